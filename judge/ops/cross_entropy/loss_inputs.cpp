#include "judge/ops/cross_entropy/loss_inputs.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "judge/ops/rows/gradient_inputs.hpp"
#include "judge/ops/rows/judged_row.hpp"
#include "judge/ops/rows/result_limits.hpp"
#include "judge/ops/rows/row_elements.hpp"
#include "numerics/formats/special_values.hpp"

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

HiddenClasses::HiddenClasses(Format format, std::size_t classes, std::uint64_t auxiliary)
    : classes_(classes), seed_(hashed(auxiliary / 64 % 1024, 6)) {
  constexpr std::uint64_t defined = smoothing_bit | softcap_bit | finite_logits_bit;
  const bool simplest = (auxiliary & most_auxiliary) < 64;
  if ((auxiliary & defined) != 0 || simplest || classes < 2 || !properties(format).has_infinity) return;
  // Rows whose first blocks are hidden are the hardest.
  static constexpr std::array kinds{Kind::last, Kind::first, Kind::first, Kind::one, Kind::scattered};
  if (hashed(classes, auxiliary & 63) % 8 == 0) {
    kind_ = Kind::last;
  } else if (seed_ / 16 % 8 < 3) {
    kind_ = kinds[seed_ / 128 % kinds.size()];
  }
}

bool HiddenClasses::operator()(std::size_t j) const {
  const std::size_t quarter = std::max<std::size_t>(classes_ / 4, 1);
  switch (kind_) {
    case Kind::none:
      return false;
    case Kind::last:
      return j >= classes_ - quarter;
    case Kind::first:
      return j < classes_ - quarter;
    case Kind::one:
      return j == seed_ % classes_;
    case Kind::scattered:
      return j != seed_ % classes_ && hashed(seed_, j % 64) % 2 == 0;
  }
  return false;
}

std::size_t HiddenClasses::visible(std::size_t j) const {
  while ((*this)(j)) j = (j + 1) % classes_;
  return j;
}

std::vector<double> HiddenClasses::hidden(std::span<const double> logits) const {
  std::vector<double> row(logits.begin(), logits.end());
  for (std::size_t j = 0; kind_ != Kind::none && j < row.size(); ++j) {
    if ((*this)(j)) row[j] = -infinity;
  }
  return row;
}

double visible_label(double label, const HiddenClasses& hidden, std::size_t classes) {
  const bool is_class = label >= 0 && label < static_cast<double>(classes);
  return is_class ? static_cast<double>(hidden.visible(static_cast<std::size_t>(label))) : label;
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

RowOp::Due HiddenClassesOp::due(const RowInputs& row) const {
  if (std::ranges::none_of(row.logits, [](double x) { return std::isinf(x); })) {
    if (row.auxiliary.empty() || std::ranges::none_of(row.auxiliary[0], [](double x) { return std::isinf(x); })) {
      return Due::values;
    }
  }
  const Due due = std::ranges::find(row.logits, infinity) == row.logits.end() ? hidden_due(row) : Due::nothing;
  return due == Due::infinity && (!traits.one_value_per_row || may_overflow(row)) ? Due::nothing : due;
}

void HiddenClassesOp::judge(const JudgedRow& row, RowVerdicts& verdicts) const {
  const Due is = due(row);
  if (is == Due::infinity) {
    const bool right = is_held_as(row.contract.output, row.got[0], infinity);
    const Decision decision = right ? Decision::proved : Decision::violated;
    ValueFinding finding{traits.claims[0], std::nullopt, Enclosure(0), row.got[0], 0, decision, {}, true};
    finding.due = "inf";
    verdicts.findings.push_back(std::move(finding));
  }
  if (is != Due::values) return;
  if (ignores(row) || std::ranges::find(row.logits, -infinity) == row.logits.end()) return RowOp::judge(row, verdicts);
  const PrecisionScope precision(113);
  const std::unique_ptr<RowElements> of = elements(row);
  // Readers of the row's items take -inf for a masked one.
  std::vector<double> finite(row.logits.begin(), row.logits.end());
  std::ranges::replace(finite, -infinity, 0.0);
  const RowInputs items{row.contract, finite, row.theta, row.auxiliary, row.attributes, row.counted};
  judge_elements(*this, traits.one_value_per_row ? Extent::rows : Extent::items, {items, row.got}, *of, verdicts);
}

void HiddenClassesOp::enclose(const RowInputs& row, std::span<double> lower, std::span<double> upper) const {
  if (row.logits.empty() && !ignores(row)) return;
  const Due is = due(row);
  if (is == Due::values) return RowOp::enclose(row, lower, upper);
  const double value = is == Due::infinity ? infinity : nan;
  std::ranges::fill(lower, value);
  std::ranges::fill(upper, value);
}

void HiddenClassesOp::grant(const RowInputs& row, std::span<double> allowed) const {
  const Due is = due(row);
  if (is == Due::values) return RowOp::grant(row, allowed);
  std::ranges::fill(allowed, is == Due::infinity ? 0 : infinity);
}

double LossOp::weight_of_term(const RowInputs& row, std::size_t j) const {
  const double s = row.attributes.label_smoothing;
  const std::span<const double> weights = class_weights_of(row, traits.inputs.size() - 2);
  const double own = static_cast<double>(j) == row.auxiliary[0][0] ? 1 - s : 0;
  return (own + s / static_cast<double>(row.logits.size())) * (weights.empty() ? 1 : weights[j]);
}

RowOp::Due LossOp::hidden_due(const RowInputs& row) const {
  if (ignores(row)) return Due::values;
  // A cap turns -inf into -c, unless the kernel hides the class first.
  const auto is_hidden = [](double x) { return x == -infinity; };
  if (row.attributes.softcap != 0 || std::ranges::all_of(row.logits, is_hidden)) return Due::nothing;
  double most = 0;
  bool label = false;
  for (std::size_t j = 0; j < row.logits.size(); ++j) {
    if (!is_hidden(row.logits[j])) continue;
    most = std::fmax(most, weight_of_term(row, j));
    label = label || (traits.inputs[1].role == Role::labels && static_cast<double>(j) == row.auxiliary[0][0]);
  }
  if (most == 0) return label ? Due::nothing : Due::values;
  // A smaller one may be 0 in the kernel.
  return most >= 4 * properties(row.contract.accumulator).smallest_normal ? Due::infinity : Due::nothing;
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

std::uint64_t LossOp::set_auxiliaries(const Domain& domain) const {
  return (domain.no_ignored ? domain_bit : 0) | (domain.hides_by_infinity() ? 0 : finite_logits_bit);
}

}  // namespace softcheck::proptests
