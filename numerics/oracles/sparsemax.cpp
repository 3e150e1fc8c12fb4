#include "numerics/oracles/sparsemax.hpp"

#include <algorithm>
#include <cmath>
#include <optional>
#include <stdexcept>

#include "numerics/enclosures/decision.hpp"
#include "numerics/oracles/exact_sum.hpp"

namespace softcheck::numerics {
namespace {

double largest_logit(std::span<const double> logits) {
  double maximum = -INFINITY;
  for (const double x : logits) {
    if (std::isnan(x) || x == INFINITY)
      throw std::invalid_argument("SparsemaxOracle: need logits that are finite or -inf");
    maximum = std::max(maximum, x);
  }
  if (std::isinf(maximum)) throw std::invalid_argument("SparsemaxOracle: need a visible item, got none");
  return maximum;
}

// The visible logits that may have a coefficient: D <= 1, by a difference of doubles rounded outward.
std::vector<double> candidates(std::span<const double> logits, double maximum) {
  std::vector<double> near;
  for (const double x : logits) {
    if (std::isfinite(x) && (maximum - x) * (1 - 0x1p-52) <= 1) near.push_back(x);
  }
  return near;
}

// Leaves out items whose D exceeds the quotient of all items, since the quotient of any items is at least the top. Sums
// of fewer than 2^32 doubles err by less than 2^-20.
void leave_out_far_ones(std::vector<double>& near, double maximum) {
  for (int round = 0; round < 4; ++round) {
    double sum = 1;
    for (const double x : near) sum += maximum - x;
    const double limit = sum / static_cast<double>(near.size()) * (1 + 0x1p-20);
    if (std::erase_if(near, [&](double x) { return maximum - x > limit; }) == 0) return;
  }
}

// The minimum of the quotients that may be it, from exact sums; nothing if two doubles cannot represent a sum.
std::optional<Enclosure> top_of_exact_sums(std::span<const double> descending, double maximum) {
  Enclosure top(1);
  ExactSum sum;
  sum.add(1);
  std::size_t k = 0;
  for (; k < descending.size(); ++k) {
    // The quotient decreases as long as k D < 1 + D_(1) + ... + D_(k); each side has a few roundings.
    const double next = static_cast<double>(k) * (maximum - descending[k]), all = sum.nearest();
    if (next * (1 - 0x1p-48) > all) break;
    if (next * (1 + 0x1p-48) >= all) {
      const Enclosure deviation = Enclosure(maximum) - Enclosure(descending[k]);
      const Decision falls = less(Enclosure::integer(k) * deviation, sum.value());
      if (falls == Decision::violated) break;
      if (falls == Decision::undecided) top = minimum(top, sum.value() / Enclosure::integer(k));
    }
    sum.add_difference(maximum, descending[k]);
    if (!sum.is_exact()) return std::nullopt;
  }
  return minimum(top, sum.value() / Enclosure::integer(k));
}

}  // namespace

SparsemaxOracle::SparsemaxOracle(std::span<const double> logits)
    : logits_(logits), maximum_(largest_logit(logits)), top_(1) {
  std::vector<double> near = candidates(logits, maximum_);
  leave_out_far_ones(near, maximum_);
  std::ranges::sort(near, std::greater<>());
  if (const auto top = top_of_exact_sums(near, maximum_)) {
    top_ = *top;
    return;
  }
  const Enclosure largest(maximum_);
  Enclosure sum(1);
  for (std::size_t k = 0; k < near.size(); ++k) {
    sum += largest - Enclosure(near[k]);
    top_ = minimum(top_, sum / Enclosure::integer(k + 1));
  }
}

Enclosure SparsemaxOracle::deviation(std::size_t i) const { return Enclosure(maximum_) - Enclosure(logits_[i]); }

Enclosure SparsemaxOracle::value(std::size_t i) const {
  if (std::isinf(logits_[i])) return Enclosure(0);
  return numerics::maximum(Enclosure(0), top_ - deviation(i));
}

Enclosure sparsemax_top_by_elimination(std::span<const double> logits) {
  const Enclosure largest(largest_logit(logits));
  std::vector<double> kept = candidates(logits, largest.midpoint());
  while (true) {
    Enclosure sum(1);
    for (const double x : kept) sum += largest - Enclosure(x);
    const Enclosure top = sum / Enclosure::integer(kept.size());
    // The quotient of these items is at least the top: items with a larger D have coefficient 0.
    const auto beyond = std::remove_if(kept.begin(), kept.end(), [&](double x) {
      return less_equal(top, largest - Enclosure(x)) == Decision::proved;
    });
    if (beyond == kept.end()) return top;
    kept.erase(beyond, kept.end());
  }
}

}  // namespace softcheck::numerics
