// dx = g - e^y sum g, from the saved output y = log_softmax(x) and the upstream gradient g (B13).
#include <algorithm>
#include <array>
#include <cmath>
#include <optional>

#include "judge/ops/rows/gradient_inputs.hpp"
#include "judge/ops/rows/row_elements.hpp"
#include "numerics/enclosures/upper_bound.hpp"
#include "numerics/formats/next_double.hpp"
#include "numerics/formats/special_values.hpp"
#include "numerics/oracles/softmax_gradient.hpp"
#include "numerics/rounding/rounding.hpp"

namespace softcheck::proptests {
namespace {

using namespace numerics;

// The statistics of g that the bound needs.
LogSoftmaxGradientRow<UpperBound> bounded_upstream(std::span<const double> g, const LongSum& total) {
  LogSoftmaxGradientRow<UpperBound> row;
  row.size = g.size();
  for (const double one : g) row.terms += one != 0 ? 1 : 0;
  row.upstream_magnitude = total.magnitude;
  row.total_magnitude = total.size();
  return row;
}

// Replaces -inf by 0: in this op -inf is an ordinary value, but readers of the row's items would take it for a masked
// one.
std::vector<double> without_minus_infinity(std::span<const double> saved) {
  std::vector<double> finite(saved.begin(), saved.end());
  std::ranges::replace(finite, -infinity, 0.0);
  return finite;
}

// Replaces NaN by 0: y_i affects only value i, and the judge skips values whose own y is NaN.
std::vector<double> numbers_of(std::span<const double> saved) {
  std::vector<double> numbers(saved.begin(), saved.end());
  std::ranges::replace_if(
      numbers, [](double y) { return std::isnan(y); }, 0);
  return numbers;
}

class LogSoftmaxBackwardElements : public RowElements {
 public:
  explicit LogSoftmaxBackwardElements(const RowInputs& row)
      : y_(numbers_of(row.logits)),
        g_(row.auxiliary[0]),
        total_(long_sum(g_, {})),
        threshold_(row.contract, bounded_upstream(g_, total_)),
        oracles_([this] { return LogSoftmaxGradientOracle(y_, g_); }) {}

  std::string_view claim() const override { return "kernel.log_softmax_backward.element"; }
  Enclosure value(std::size_t i) override { return oracles_.now().gradient(i); }
  Quick quick(std::size_t i) override {
    return quick_.of(i, [this](std::size_t j) { return quick_value(j); });
  }
  double threshold(std::size_t i) override { return upper(element(i).total()); }
  bool repeats(std::size_t i) const override { return y_[i] == y_[i - 1] && g_[i] == g_[i - 1]; }
  double metric(std::size_t i, double) override { return upper(threshold_.metric(of_power(i).above, upstream(i))); }
  bool is_vacuous(std::size_t i, double metric) override {
    return numerics::is_vacuous(upper(element(i).rounding), metric);
  }

 private:
  Quick quick_value(std::size_t i) {
    const long double power = of_power(i).value;
    if (std::isinf(power)) return {0, power};
    if (power == 0) return {g_[i], 0x1p-1070L};  // even if the total's error is infinite
    // Errors: expl has at most 2 ulps, 2^-62 (the GNU C library's "Errors in Math Functions", x86-64); the product and
    // the difference 2^-64 each; the total's own; and the smallest doubles.
    const long double roundings = 0x1p-61L * (std::fabs(g_[i]) + power * std::fabs(total_.value));
    return {g_[i] - power * total_.value, roundings + 2 * power * total_.error() + 0x1p-1070L};
  }
  // e^y and the terms that depend on it alone, cached: rows have long runs of one y.
  struct OfPower {
    double y;
    long double value;
    UpperBound above;
    LogSoftmaxGradientThreshold<UpperBound>::PowerTerms terms;
  };
  const OfPower& of_power(std::size_t i) {
    if (power_ && power_->y == y_[i]) return *power_;
    const long double value = std::exp(static_cast<long double>(y_[i]));
    // expl errs by less than half an ulp of double. e^-inf is 0 (IEEE 754, 9.2.1).
    const UpperBound above =
        y_[i] == -infinity ? UpperBound(0) : UpperBound(next_above(next_above(static_cast<double>(value))));
    power_ = OfPower{y_[i], value, above, threshold_.terms(above, UpperBound(std::fabs(y_[i])))};
    return *power_;
  }
  UpperBound upstream(std::size_t i) const { return UpperBound(std::fabs(g_[i])); }
  const ScalarThreshold<UpperBound>& element(std::size_t i) {
    return last_.of(
        i, [this](std::size_t j) { return threshold_.element(of_power(j).terms, upstream(j), size_of(quick(j))); });
  }

  std::vector<double> y_;
  std::span<const double> g_;
  LongSum total_;
  LogSoftmaxGradientThreshold<UpperBound> threshold_;
  LastItem<Quick> quick_;
  std::optional<OfPower> power_;
  LastItem<ScalarThreshold<UpperBound>> last_;
  OracleLadder<LogSoftmaxGradientOracle> oracles_;
};

class LogSoftmaxBackward final : public RowOp {
  // One item's e^y does not affect another item's value.
  static constexpr std::array roles{OpInput{.role = Role::saved, .nan_reach = NanReach::item},
                                    OpInput{Role::out_gradient}};
  static constexpr std::array<std::string_view, 1> outputs{"output"}, claims{"kernel.log_softmax_backward.element"};

 public:
  constexpr LogSoftmaxBackward()
      : RowOp({.name = "log_softmax_backward",
               .inputs = roles,
               .outputs = outputs,
               .claims = claims,
               .has_theta = false,
               .takes_mask = false,
               .takes_infinities = false,
               .saved_logarithms = true,
               .may_be_in_place = true,
               .number = SOFTCHECK_OP_LOG_SOFTMAX_BACKWARD,
               .answers = {.auxiliary_of_sums = alike_upstream, .expensive = true, .masked_rows = false}}) {}

  std::vector<std::vector<double>> input_values(Format format, std::span<const double> logits,
                                                std::uint64_t auxiliary) const override {
    return {saved_log_softmax(format, logits, auxiliary), upstream_gradient(format, logits.size(), auxiliary)};
  }
  std::uint64_t closed_auxiliaries(const Domain& domain) const override {
    return domain.hides_by_infinity() ? 0 : hidden_items_bit;
  }
  std::unique_ptr<RowElements> elements(const RowInputs& row) const override {
    return std::make_unique<LogSoftmaxBackwardElements>(row);
  }

  void judge(const JudgedRow& row, RowVerdicts& verdicts) const override {
    const PrecisionScope precision(113);
    LogSoftmaxBackwardElements of(row);
    const std::vector<double> finite = without_minus_infinity(row.logits);
    const RowInputs items{row.contract, finite, row.theta, row.auxiliary, row.attributes};
    judge_elements(*this, Extent::items, {items, row.got}, of, verdicts);
  }

  void enclose(const RowInputs& row, std::span<double> lower, std::span<double> upper) const override {
    RowOp::enclose(row, lower, upper);
    const PrecisionScope precision(113);
    // The product with e^-inf = 0 leaves g.
    for (std::size_t i = 0; i < lower.size(); ++i) {
      if (row.logits[i] == -infinity) lower[i] = upper[i] = row.auxiliary[0][i];
    }
  }

  void grant(const RowInputs& row, std::span<double> allowed) const override {
    RowOp::grant(row, allowed);
    const PrecisionScope precision(113);
    LogSoftmaxBackwardElements of(row);
    for (std::size_t i = 0; i < allowed.size(); ++i) {
      if (row.logits[i] == -infinity) allowed[i] = granted(row.contract, of, i);
    }
  }
};

constinit const LogSoftmaxBackward log_softmax_backward_op;

}  // namespace

constinit const Op Op::log_softmax_backward = log_softmax_backward_op;

}  // namespace softcheck::proptests
