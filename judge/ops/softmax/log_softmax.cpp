#include <array>
#include <cmath>

#include "judge/ops/rows/argument_form.hpp"
#include "judge/ops/rows/judged_row.hpp"
#include "judge/ops/rows/row_elements.hpp"
#include "numerics/formats/special_values.hpp"
#include "numerics/rounding/flushed_output.hpp"

namespace softcheck::proptests {
namespace {

using namespace numerics;

class LogSoftmaxElements : public RowElements {
 public:
  explicit LogSoftmaxElements(const RowInputs& row)
      : row_(row),
        cascade_(row.logits, row.theta),
        statistics_(statistics_of(cascade_.statistics(), row.contract, row.logits, row.theta)),
        threshold_(log_softmax_error(row.contract, statistics_)),
        plain_(log_softmax_error(row.contract, statistics_, Grants::none)),
        maximum_(cascade_.statistics().maximum),
        log_sum_(log1p(ExactSums(cascade_).sum_minus_one)),
        near_log_sum_(quick_of(log_sum_)),
        oracles_([this] { return RowOracle(row_.logits, row_.theta); }) {
    // x - lse cancels with lse=uncentred: the result keeps only the absolute accuracy of the maximum and of lse.
    const bool cancels = !row.contract.has_centred_lse();
    const double cancelled = cancels
                                 ? properties(row.contract.accumulator).unit_roundoff *
                                       (upper(statistics_.maximum_magnitude) + upper(statistics_.logsumexp_magnitude))
                                 : 0;
    resolution = resolution_of_logarithms(row.contract, statistics_) + cancelled;
    promised = std::isfinite(upper(threshold_.constant));
    resolved = is_resolved(row.contract, statistics_, cancels);
  }

  std::string_view claim() const override { return "kernel.log_softmax.element"; }
  Quick quick(std::size_t i) override {
    const long double theta = row_.theta;
    const long double value = -((static_cast<long double>(maximum_) - row_.logits[i]) / theta + near_log_sum_.value);
    // Roundings: the difference, the quotient, the sum of terms of one sign, and the logarithm's own.
    return {value, 4 * two_roundings * std::fabs(value) + near_log_sum_.error};
  }
  Enclosure value(std::size_t i) override {
    // Up to 113 bits the 90 accurate bits of ln S suffice.
    return working_precision() <= 113 ? -(difference(i) / Enclosure(row_.theta)) - log_sum_
                                      : oracles_.now().log_softmax(i);
  }
  double threshold(std::size_t i) override { return upper(threshold_.at(deviation(i))); }
  bool repeats(std::size_t i) const override { return row_.logits[i] == row_.logits[i - 1]; }
  bool is_vacuous(std::size_t i, double magnitude) override {
    return numerics::is_vacuous(upper(plain_.rounding(deviation(i))), magnitude);
  }
  ResultLimits limits(std::size_t) override {
    return {.most = log_coefficient_overshoot(row_.contract, statistics_),
            .rule = "no logarithm of a coefficient exceeds 0 by more than its own roundings"};
  }
  bool overflows(std::size_t i) override {
    // x - max is a single difference, not yet divided by theta.
    if (row_.contract.theta == ThetaUse::before) return false;
    return less(difference(i), Enclosure(overflow_limit(row_.contract))) != Decision::proved;
  }

 private:
  UpperBound deviation(std::size_t i) const { return deviation_at_most(maximum_, row_.logits[i], row_.theta); }
  Enclosure difference(std::size_t i) const { return Enclosure(maximum_) - Enclosure(row_.logits[i]); }

  const RowInputs row_;
  RowCascade cascade_;
  const Statistics statistics_;
  const LinearThreshold<UpperBound> threshold_, plain_;
  const double maximum_;
  const Enclosure log_sum_;
  const Quick near_log_sum_;
  OracleLadder<RowOracle> oracles_;
};

class LogSoftmax final : public RowOp {
  static ArgumentThreshold threshold(const Contract& contract, const Statistics& statistics) {
    const auto element = log_softmax_error(contract, statistics);
    return {upper(element.constant), upper(element.slope), threshold_of_result(contract, upper(element.floor), 1),
            infinity};
  }
  static constexpr ArgumentForm form{ArgumentValue::log_coefficient, &threshold};
  static constexpr std::array inputs{OpInput{Role::logits}};
  static constexpr std::array<std::string_view, 1> outputs{"output"}, claims{"kernel.log_softmax.element"};
  static constexpr std::array<std::string_view, 4> words{"lse", "total", "theta", "differences"};

 public:
  constexpr LogSoftmax()
      : RowOp({.name = "log_softmax",
               .inputs = inputs,
               .outputs = outputs,
               .claims = claims,
               .may_be_in_place = true,
               .answers = {.words = words, .expensive = true}}) {}

  const ArgumentForm* arguments() const override { return &form; }

  std::unique_ptr<RowElements> elements(const RowInputs& row) const override {
    return std::make_unique<LogSoftmaxElements>(row);
  }
  double nothing() const override { return -infinity; }
  Enclosure uniform(std::uint64_t n) const override { return -log(Enclosure::integer(n)); }
};

constinit const LogSoftmax log_softmax_op;

}  // namespace

constinit const Op Op::log_softmax = log_softmax_op;

}  // namespace softcheck::proptests
