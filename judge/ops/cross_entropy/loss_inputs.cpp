#include "judge/ops/cross_entropy/loss_inputs.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "judge/ops/rows/gradient_inputs.hpp"
#include "proptests/generators/rows/row.hpp"

namespace softcheck::proptests {

using namespace numerics;

// The softcaps of Gemma 2, and one that most logits exceed and only f64 represents exactly.
Attributes drawn_loss_attributes(std::uint64_t auxiliary, std::size_t classes) {
  static constexpr std::array caps{30.0, 50.0, 2.3};
  constexpr std::int64_t beyond_int32 = std::int64_t{1} << 32;  // its lower 32 bits alone would be class 0
  return {.label_smoothing = (auxiliary & smoothing_bit) != 0 ? 0.1 : 0,
          .z_loss = (auxiliary & z_loss_bit) != 0 ? 0x1p-10 : 0,
          .ignore_index = (auxiliary & first_ignored_bit) == 0 ? usual_ignore_index
                          : classes % 4 == 3                   ? beyond_int32
                                                               : 0,
          .softcap = (auxiliary & softcap_bit) != 0 ? caps[classes % caps.size()] : 0};
}

std::vector<double> drawn_class_weights(Format format, std::size_t classes, std::uint64_t auxiliary) {
  std::vector<double> weights;
  if ((auxiliary & class_weights_bit) == 0) return weights;
  for (std::size_t j = 0; j < classes; ++j) {
    const std::uint64_t bits = hashed(classes, j);
    const double binade = std::ldexp(1 + std::fabs(signed_unit(hashed(bits, j))), static_cast<int>(bits % 6) - 3);
    weights.push_back(bits / 64 % 16 == 0 ? 0 : round_to(format, binade));
  }
  return weights;
}

double drawn_label(std::span<const double> logits, std::uint64_t auxiliary) {
  const auto ignored = static_cast<double>(drawn_loss_attributes(auxiliary, logits.size()).ignore_index);
  if (logits.empty()) return ignored;
  const auto place = [&](auto found) { return static_cast<double>(found - logits.begin()); };
  const std::uint64_t seed = auxiliary / 64;
  switch (seed % 8) {
    case 0:
      return 0;
    case 1:
      return static_cast<double>(logits.size() - 1);
    case 2:
      return (auxiliary & domain_bit) == 0 ? ignored : 0;
    case 3:
      return place(std::ranges::max_element(logits));
    case 4:
      return place(std::ranges::min_element(logits));
    default:
      return static_cast<double>(hashed(seed, 1) % logits.size());
  }
}

double drawn_upstream(Format format, std::uint64_t auxiliary, std::uint64_t bits) {
  const FormatProperties& facts = properties(format);
  const double number = signed_unit(hashed(bits, 2));
  // Keep room for rounding upward; class weights and a z-loss enlarge the gradient. 2^1000 is for the judge's own
  // doubles.
  const double below = (auxiliary & (z_loss_bit | class_weights_bit)) == 0 ? 0x1p-1 : 0x1p-7;
  switch (bits % 8) {
    case 0:
      return round_to(format, std::fmin(1, std::ldexp(facts.smallest_normal * (1 + std::fabs(number)),
                                                      static_cast<int>(bits / 8 % 16))));
    case 1:
      return -below * std::min(facts.largest, 0x1p+1000);
    case 2:  // a token that the mean leaves out
      return 0;
    default:  // as small as in a mean over many rows
      return round_to(format, 0x1p-6 * number);
  }
}

bool has_ignored_label(const RowInputs& row) {
  return row.auxiliary[0][0] == static_cast<double>(row.attributes.ignore_index);
}

std::span<const double> class_weights_of(const RowInputs& row, std::size_t before) {
  return row.auxiliary.size() > before ? std::span<const double>(row.auxiliary[before]) : std::span<const double>();
}

Attributes LossOp::attributes(std::uint64_t auxiliary, std::size_t n) const {
  return drawn_loss_attributes(auxiliary, n);
}

bool LossOp::has_input(std::size_t k, std::uint64_t auxiliary) const {
  return !traits.inputs[k].optional || (auxiliary & class_weights_bit) != 0;
}

std::uint64_t LossOp::closed_auxiliaries(const Domain& domain) const {
  return (domain.no_smoothing ? smoothing_bit : 0) | (domain.no_z_loss ? z_loss_bit : 0) |
         (domain.one_ignore_index || domain.no_ignored ? first_ignored_bit : 0) |
         (domain.no_softcap || domain.temperature ? softcap_bit : 0) |
         (domain.no_class_weights ? class_weights_bit : 0);
}

std::uint64_t LossOp::set_auxiliaries(const Domain& domain) const { return domain.no_ignored ? domain_bit : 0; }

}  // namespace softcheck::proptests
