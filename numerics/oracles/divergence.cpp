#include "numerics/oracles/divergence.hpp"

#include <stdexcept>
#include <string>

#include "numerics/formats/fp_environment.hpp"

namespace softcheck::numerics {

DivergenceOracle::DivergenceOracle(std::span<const double> logits, std::span<const double> teacher, double theta,
                                   bool reverse)
    : student_(logits, theta), teacher_(teacher, theta), theta_(theta), reverse_(reverse) {
  const FpEnvironmentGuard environment;
  if (logits.size() != teacher.size() || student_.fully_masked() || teacher_.fully_masked()) {
    throw std::invalid_argument("DivergenceOracle: need two rows of one length with a finite number each, got " +
                                std::to_string(student_.visible()) + " and " + std::to_string(teacher_.visible()));
  }
  log_sums_ = log1p(other().sum_minus_one()) - log1p(weighing().sum_minus_one());
  divergence_ = Enclosure(0);
  Enclosure term;
  for (std::size_t j = 0; j < logits.size(); ++j) {
    if (!weighing().is_visible(j)) continue;
    if (!other().is_visible(j)) {
      throw std::invalid_argument("DivergenceOracle: need a finite divergence, got a coefficient of 0 at " +
                                  std::to_string(j));
    }
    const bool same = j > 0 && logits[j] == logits[j - 1] && teacher[j] == teacher[j - 1];
    if (!same) term = weighing().softmax(j) * ratio(j);
    divergence_ = divergence_ + term;
  }
}

Enclosure DivergenceOracle::ratio(std::size_t j) const {
  return other().deviation(j) - weighing().deviation(j) + log_sums_;
}

Enclosure DivergenceOracle::gradient(std::size_t j, const Enclosure& upstream) const {
  if (!reverse_) return upstream * (student_.softmax(j) - teacher_.softmax(j)) / Enclosure(theta_);
  if (!student_.is_visible(j)) return Enclosure(0);
  return upstream * student_.softmax(j) * (ratio(j) - divergence_) / Enclosure(theta_);
}

}  // namespace softcheck::numerics
