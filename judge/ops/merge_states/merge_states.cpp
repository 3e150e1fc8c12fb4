// O = sum w O_k and L = ln sum e^(L_k), w = softmax(L), of partial results (O_k, L_k) of an attention (B16).
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include "judge/ops/rows/gradient_inputs.hpp"
#include "judge/ops/rows/judged_row.hpp"
#include "judge/ops/rows/long_softmax.hpp"
#include "judge/ops/rows/product_sums.hpp"
#include "judge/ops/rows/row_elements.hpp"
#include "judge/ops/rows/softmax_bounds.hpp"
#include "numerics/enclosures/interruption.hpp"
#include "numerics/enclosures/upper_bound.hpp"
#include "numerics/formats/next_double.hpp"
#include "numerics/formats/special_values.hpp"
#include "numerics/oracles/merged_states.hpp"
#include "proptests/generators/rows/row_families.hpp"

namespace softcheck::proptests {
namespace {

using namespace numerics;

constexpr long double log_of_two = 0.693147180559945309417232121458176568L;

// Bits of RowCase::auxiliary that all rows of a call share: the index of the width, the kind of the outputs, the base.
constexpr std::uint64_t width_bits = 3, first_kind_bit = 4, base_2_bit = 32;

std::size_t drawn_width(std::size_t parts, std::uint64_t auxiliary) {
  // If there are few parts, a head dimension of published models; 512 is that of latent attention (DeepSeek-V3).
  static constexpr std::array<std::size_t, 4> of_few{1, 3, 64, 128}, of_many{1, 2, 3, 5};
  static constexpr std::array<std::size_t, 8> wide{128, 80, 96, 192, 256, 72, 101, 512};
  if (parts > 40) return of_many[auxiliary & width_bits];
  return (auxiliary & width_bits) == width_bits ? wide[auxiliary / first_kind_bit % 8] : of_few[auxiliary & width_bits];
}

// The outputs of the parts, (parts, width); for an empty part NaN, as no kernel wrote it, or 0 if the domain says so.
std::vector<double> drawn_outputs(Format format, std::span<const double> lse, std::uint64_t auxiliary) {
  const std::size_t width = drawn_width(lse.size(), auxiliary);
  const std::uint64_t kind = auxiliary / first_kind_bit % 8;
  const std::size_t place = lse.empty() ? 0 : auxiliary / 64 % lse.size();
  const auto value = [&](std::size_t k, std::uint64_t bits) -> double {
    switch (kind) {
      case 0:
        return 1;
      case 1:  // products with nearly equal numbers round alike
        return 0.9;
      case 2:
        return 1 + 0x1p-8 * signed_unit(bits);
      case 3:  // terms cancel
        return k % 2 == 0 ? 1 : -1;
      case 4:  // only one part is nonzero
        return k == place ? 1 : 0;
      case 5:  // 24 binades
        return std::ldexp(signed_unit(bits), static_cast<int>(bits % 25) - 12);
      case 6:  // one part is far larger
        return k == place ? 4096 * signed_unit(bits) : signed_unit(bits);
      default:
        return 4 * signed_unit(bits);
    }
  };
  std::vector<double> outputs;
  outputs.reserve(lse.size() * width);
  for (std::size_t k = 0; k < lse.size(); ++k) {
    throw_if_interrupted();
    for (std::size_t c = 0; c < width; ++c) {
      const double number = value(k, hashed(auxiliary, k * width + c));
      outputs.push_back(!std::isinf(lse[k]) ? into_format(format, number) : (auxiliary & domain_bit) != 0 ? 0 : nan);
    }
  }
  return outputs;
}

// Is every difference of two finite lse a finite double? Magnitudes below the limit ensure it.
bool differences_are_doubles(std::span<const double> lse) {
  constexpr double limit = std::numeric_limits<double>::max() / 4;
  return std::ranges::all_of(lse, [](double x) { return x == -infinity || std::fabs(x) < limit; });
}

// The merge of a row with at least one nonempty part.
class Merge {
 public:
  Merge(const RowInputs& row, Format lse)
      : base_(row.attributes.lse_base2 ? LseBase::two : LseBase::e), row_(row), lse_(lse) {
    width_ = row.logits.empty() ? 0 : row.auxiliary[0].size() / row.logits.size();
    for (std::size_t k = 0; k < row.logits.size(); ++k) {
      if (std::isinf(row.logits[k])) continue;
      visible_.push_back(k);
      maximum_ = std::max(maximum_, row.logits[k]);
    }
    std::vector<LongApproximation> scores;
    scores.reserve(visible_.size());
    for (const std::size_t k : visible_) {
      // Relative to the largest: the difference is as accurate as a long double.
      const long double distance = static_cast<long double>(row.logits[k]) - maximum_;
      const long double natural = base_ == LseBase::e ? distance : distance * log_of_two;
      scores.push_back({natural, static_cast<double>(2 * two_roundings * std::fabs(natural))});
    }
    softmax_.emplace(scores);
  }

  // The quantities that the thresholds need.
  MergedStatesRow<UpperBound> bounds() const {
    const ItemBounds items(*softmax_);
    MergedStatesRow<UpperBound> bounds;
    const auto parts = row_.logits.size();
    bounds.coefficients.assign(parts, UpperBound(0));
    bounds.deviations = bounds.magnitudes = bounds.coefficients;
    const auto natural = [&](double lse) {
      return UpperBound(std::fabs(lse)) * UpperBound(base_ == LseBase::e ? 1 : 0x1.62e42fefa39fp-1);  // > ln 2
    };
    RowStatistics<UpperBound>& s = bounds.statistics;
    s = statistics();
    s.largest_magnitude = UpperBound(0);
    for (std::size_t i = 0; i < visible_.size(); ++i) {
      const std::size_t k = visible_[i];
      bounds.coefficients[k] = items.coefficients[i];
      bounds.deviations[k] = items.deviations[i];
      bounds.magnitudes[k] = natural(row_.logits[k]);
      s.largest_magnitude = maximum(s.largest_magnitude, bounds.magnitudes[k]);
    }
    s.maximum_magnitude = natural(maximum_);
    const Quick lse = logsumexp();
    s.logsumexp_magnitude = natural(1) * size_of(lse);
    return bounds;
  }

  MergedStatesThreshold<UpperBound> threshold(const MergedStatesRow<UpperBound>& bounds, Grants grants) const {
    return {row_.contract, lse_, base_, bounds, grants};
  }

  // L in the row's base.
  Quick logsumexp() const {
    const LongApproximation log = softmax_->log_sum();
    const long double in_base = base_ == LseBase::e ? log.value : log.value / log_of_two;
    const long double value = maximum_ + in_base;
    return {value, 2 * (log.error + 2 * two_roundings * std::fabs(in_base)) + two_roundings * std::fabs(value)};
  }
  double log_sum() const { return static_cast<double>(softmax_->log_sum().value); }
  double maximum_lse() const { return maximum_; }
  // Below this, ln S of a sum near 1 has no relative accuracy.
  double sum_resolution(const MergedStatesRow<UpperBound>& bounds) const {
    const double error = upper(sum_error(row_.contract, bounds.statistics));
    return error < 1 ? error : 0;
  }

  // Sums over the parts for every column; bounds are for the magnitudes and for the threshold's term errors.
  ProductSums outputs(std::span<const UpperBound> term_errors) const {
    ProductSums sums(width_, digits_for(row_.contract));
    for (std::size_t i = 0; i < visible_.size(); ++i) {
      const std::size_t k = visible_[i];
      sums.add({softmax_->coefficient(i), 0, term_errors[k], UpperBound(1)},
               std::span(row_.auxiliary[0]).subspan(k * width_, width_));
    }
    return sums;
  }
  std::vector<UpperBound> sizes(std::size_t column) const {
    std::vector<UpperBound> sizes(row_.logits.size(), UpperBound(0));
    for (const std::size_t k : visible_) sizes[k] = UpperBound(std::fabs(output_of(k, column)));
    return sizes;
  }

  // Of the nonempty parts.
  std::pair<double, double> range(std::size_t column) const {
    std::pair<double, double> range{infinity, -infinity};
    for (const std::size_t k : visible_) {
      range.first = std::fmin(range.first, output_of(k, column));
      range.second = std::fmax(range.second, output_of(k, column));
    }
    return range;
  }
  std::vector<UpperBound> alike(const UpperBound& size) const {
    return std::vector<UpperBound>(row_.logits.size(), size);
  }
  // The bounds for L_k that a kernel reads without an error. A key's error is linear in its deviation, and no mean
  // deviation exceeds ln K.
  MergedStatesRow<UpperBound> widest() const {
    const std::uint64_t parts = row_.logits.size(), rescalings = visible_.size() - 1;
    MergedStatesRow<UpperBound> bounds;
    bounds.statistics = widest_statistics(parts, visible_.size(), rescalings, 0);
    bounds.coefficients.assign(parts, UpperBound(0));
    bounds.coefficients.front() = UpperBound(1);
    bounds.deviations.assign(parts, bounds.statistics.mean_deviation);
    bounds.magnitudes.assign(parts, UpperBound(0));
    return bounds;
  }

  MergedStatesOracle oracle() const { return {row_.logits, row_.auxiliary[0], width_, base_}; }

 private:
  double output_of(std::size_t part, std::size_t column) const { return row_.auxiliary[0][part * width_ + column]; }
  // Statistics of the weights, without the magnitudes of the L_k.
  RowStatistics<UpperBound> statistics() const {
    RowStatistics<UpperBound> s = score_statistics(*softmax_);
    s.size = row_.logits.size();
    s.rescalings = rescaling_count(row_.contract, row_.logits);
    return s;
  }

  LseBase base_;
  const RowInputs& row_;
  Format lse_;
  std::size_t width_ = 0;
  std::vector<std::size_t> visible_;
  double maximum_ = -infinity;
  std::optional<LongSoftmax> softmax_;
};

// What both outputs are judged by.
struct MergeBounds {
  MergeBounds(const RowInputs& row, Format lse)
      : merge(row, lse),
        bounds(merge.bounds()),
        threshold(merge.threshold(bounds, Grants::all)),
        oracles([this] { return merge.oracle(); }) {}

  // Computed on demand: only values that may be vacuous need it.
  const MergedStatesThreshold<UpperBound>& plain() {
    if (!plain_) plain_.emplace(merge.threshold(bounds, Grants::none));
    return *plain_;
  }
  // The threshold for any weights, without the errors of the L_k: how far an output may leave the range of the parts'
  // outputs (ResultLimits).
  const MergedStatesThreshold<UpperBound>& widest() {
    if (!widest_) widest_.emplace(merge.threshold(merge.widest(), Grants::all));
    return *widest_;
  }

  Merge merge;
  MergedStatesRow<UpperBound> bounds;
  MergedStatesThreshold<UpperBound> threshold;
  OracleLadder<MergedStatesOracle> oracles;

 private:
  std::optional<MergedStatesThreshold<UpperBound>> plain_, widest_;
};

class MergedOutputs final : public RowElements {
 public:
  MergedOutputs(MergeBounds& of, std::string_view claim)
      : of_(of), claim_(claim), sums_(of.merge.outputs(of.threshold.attention().term_errors())) {}

  std::string_view claim() const override { return claim_; }
  Enclosure value(std::size_t c) override { return of_.oracles.now().output(c); }
  Quick quick(std::size_t c) override {
    const LongApproximation value = sums_.total(c);
    return {value.value, value.error};
  }
  double threshold(std::size_t c) override {
    return upper(of_.threshold.attention().column(sums_.error(c), sums_.floor(c), size_of(sums_.total(c))).total());
  }
  // Terms may cancel: an output is only as accurate as they are.
  double metric(std::size_t c, double) override { return sums_.size(c); }
  bool is_vacuous(std::size_t c, double metric) override {
    const UpperBound size = size_of(sums_.total(c));
    return numerics::is_vacuous(upper(of_.plain().column(of_.merge.sizes(c), size).rounding), metric);
  }
  ResultLimits limits(std::size_t c) override {
    const auto [least, most] = of_.merge.range(c);
    const UpperBound largest(std::fmax(std::fabs(least), std::fabs(most)));
    const double error = upper(of_.widest().column(of_.merge.alike(largest), largest).total());
    return {next_below(least - error), next_above(most + error),
            "beyond the parts' outputs by more than the errors of the sums"};
  }

 private:
  MergeBounds& of_;
  std::string_view claim_;
  ProductSums sums_;
};

class MergedLogSumExp final : public RowElements {
 public:
  MergedLogSumExp(MergeBounds& of, Format output, std::string_view claim) : of_(of), claim_(claim), output_(output) {
    resolution = of.merge.sum_resolution(of.bounds);
  }

  std::string_view claim() const override { return claim_; }
  Enclosure value(std::size_t) override { return of_.oracles.now().logsumexp(); }
  Quick quick(std::size_t) override { return of_.merge.logsumexp(); }
  double threshold(std::size_t) override { return upper(of_.threshold.logsumexp(output_).total()); }
  // The maximum and ln S may cancel.
  double metric(std::size_t, double) override { return std::fabs(of_.merge.maximum_lse()) + of_.merge.log_sum(); }
  bool is_vacuous(std::size_t, double metric) override {
    return numerics::is_vacuous(upper(of_.plain().logsumexp(output_).rounding), metric);
  }

 private:
  MergeBounds& of_;
  std::string_view claim_;
  Format output_;
};

class MergeStates final : public RowOp {
  static constexpr std::array inputs{OpInput{Role::lse}, OpInput{Role::out, Extent::vectors}};
  static constexpr std::array<std::string_view, 2> outputs{"out", "lse"},
      claims{"kernel.merge_states.out", "kernel.merge_states.lse"};
  static constexpr std::array extents{Extent::vectors, Extent::rows};

 public:
  constexpr MergeStates()
      : RowOp({.name = "merge_states",
               .inputs = inputs,
               .outputs = outputs,
               .extents = extents,
               .claims = claims,
               .has_theta = false,
               .takes_mask = false,
               .has_limit = false,
               .may_be_in_place = true,
               .quick_items = 1024,  // parts are splits of a sequence, or ranks
               .number = SOFTCHECK_OP_MERGE_STATES,
               .answers = {.expensive = true}}) {}

  Attributes attributes(std::uint64_t auxiliary, std::size_t) const override {
    return {.lse_base2 = (auxiliary & base_2_bit) != 0};
  }
  std::uint64_t closed_auxiliaries(const Domain& domain) const override { return domain.base_e ? base_2_bit : 0; }
  std::uint64_t set_auxiliaries(const Domain& domain) const override {
    return (domain.base_2 ? base_2_bit : 0) | (domain.zero_parts ? domain_bit : 0);
  }
  std::size_t width(std::size_t parts, std::uint64_t auxiliary) const override { return drawn_width(parts, auxiliary); }
  std::uint64_t narrowed(std::size_t parts, std::uint64_t auxiliary, std::size_t most) const override {
    while ((auxiliary & width_bits) != 0 && drawn_width(parts, auxiliary) > most) --auxiliary;
    return auxiliary;
  }

  std::vector<std::vector<double>> input_values(Format format, std::span<const double> logits,
                                                std::uint64_t auxiliary) const override {
    return {{logits.begin(), logits.end()}, drawn_outputs(format, logits, auxiliary)};
  }

  void judge(const JudgedRow& row, RowVerdicts& verdicts) const override {
    const PrecisionScope precision(113);
    if (!differences_are_doubles(row.logits)) return verdicts.vacuity.add_row(true, false);
    const Format lse = wide_format(row.contract.input);
    const std::size_t width = row.got.size() - 1;
    MergeBounds of(row, lse);
    MergedOutputs out(of, claims[0]);
    judge_elements(*this, Extent::vectors, {row, row.got.first(width)}, out, verdicts);
    Contract wide = row.contract;
    wide.output = lse;
    MergedLogSumExp logsumexp(of, lse, claims[1]);
    const RowInputs of_lse{wide, row.logits, row.theta, row.auxiliary, row.attributes};
    judge_elements(*this, Extent::rows, {of_lse, row.got.subspan(width)}, logsumexp, verdicts);
  }

  void enclose(const RowInputs& row, std::span<double> lower, std::span<double> upper) const override {
    const PrecisionScope precision(113);
    std::ranges::fill(lower, -infinity);
    std::ranges::fill(upper, infinity);
    if (!differences_are_doubles(row.logits)) return;
    MergeBounds of(row, wide_format(row.contract.input));
    for (std::size_t i = 0; i < lower.size(); ++i) {
      const bool is_lse = i + 1 == lower.size();
      const auto value = [&] { return is_lse ? of.oracles.now().logsumexp() : of.oracles.now().output(i); };
      const Enclosure exact = refined(value(), value);
      lower[i] = exact.lower_double();
      upper[i] = exact.upper_double();
    }
  }

  void grant(const RowInputs& row, std::span<double> allowed) const override {
    const PrecisionScope precision(113);
    std::ranges::fill(allowed, infinity);
    if (!differences_are_doubles(row.logits)) return;
    const Format lse = wide_format(row.contract.input);
    MergeBounds of(row, lse);
    MergedOutputs out(of, claims[0]);
    MergedLogSumExp logsumexp(of, lse, claims[1]);
    for (std::size_t c = 0; c + 1 < allowed.size(); ++c) allowed[c] = granted(row.contract, out, c);
    Contract wide = row.contract;
    wide.output = lse;
    allowed.back() = granted(wide, logsumexp, 0);
  }

  // Without parts L is -inf; masked= defines only O.
  bool has_masked_value(std::size_t i, std::size_t count) const override { return i + 1 < count; }
  double nothing_at(std::size_t i, std::size_t count) const override { return i + 1 < count ? 0 : -infinity; }
};

constinit const MergeStates merge_states_op;

}  // namespace

constinit const Op Op::merge_states = merge_states_op;

}  // namespace softcheck::proptests
