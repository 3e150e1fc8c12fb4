#include <array>
#include <cmath>

#include "judge/ops/rows/argument_form.hpp"
#include "judge/ops/rows/row_op.hpp"
#include "judge/ops/rows/row_scalar.hpp"
#include "numerics/formats/special_values.hpp"
#include "numerics/rounding/flushed_output.hpp"

namespace softcheck::proptests {
namespace {

using namespace numerics;

class LogSumExp final : public RowOp {
  static ArgumentThreshold threshold(const Contract& contract, const Statistics& statistics) {
    const auto value = logsumexp_error(contract, statistics);
    return {upper(value.rounding), 0, threshold_of_result(contract, upper(value.floor), 1), infinity};
  }
  static constexpr ArgumentForm form{ArgumentValue::logsumexp, &threshold};
  static constexpr std::array inputs{OpInput{Role::logits}};
  static constexpr std::array<std::string_view, 1> outputs{"output"}, claims{"kernel.logsumexp.value"};
  static constexpr std::array<std::string_view, 5> words{"total", "theta", "differences", "lse=running", "lse=base2"};

  static Enclosure near_value(RowCascade& cascade, double theta) {
    return Enclosure(cascade.statistics().maximum) / Enclosure(theta) + log1p(ExactSums(cascade).sum_minus_one);
  }

 public:
  constexpr LogSumExp()
      : RowOp({.name = "logsumexp",
               .inputs = inputs,
               .outputs = outputs,
               .claims = claims,
               .one_value_per_row = true,
               .answers = {.words = words, .at_the_logits = true, .masked_rows = false}}) {}

  const ArgumentForm* arguments() const override { return &form; }

  void judge(const JudgedRow& given, RowVerdicts& verdicts) const override {
    const std::array natural{given.contract.in_nats(given.got[0])};
    JudgedRow row = given;
    row.got = natural;
    RowCascade cascade(row.logits, row.theta);
    const Statistics statistics = statistics_of(cascade.statistics(), row.contract, row.logits, row.theta);
    RowScalar scalar{claims[0], logsumexp_error(row.contract, statistics),
                     logsumexp_error(row.contract, statistics, Grants::none), Enclosure(0)};
    scalar.decision = cascade.judge_logsumexp(row.got[0], allowed_of(row, scalar.threshold));
    // m / theta and ln S may cancel: the sum is only as accurate as its terms.
    scalar.resolution = resolution_of_logarithms(row.contract, statistics) +
                        properties(row.contract.accumulator).unit_roundoff * statistics.maximum_magnitude.value();
    // Each step of a running total rounds by the size of its terms. If these roundings are small relative to the terms,
    // only a total that cancels is below them.
    const double rounding = upper(scalar.plain.rounding);
    const double terms = std::fmax(upper(statistics.largest_magnitude), upper(statistics.logsumexp_magnitude));
    if (row.contract.lse == LseForm::running && rounding < terms / 2) {
      scalar.resolution = std::fmax(scalar.resolution, rounding);
    }
    // For f64 rows the value m / theta + ln S may exceed all doubles, and so may its threshold.
    scalar.resolved = is_resolved(row.contract, statistics) && upper(statistics.logsumexp_magnitude) < infinity;
    const PrecisionScope precision(113);
    scalar.exact = near_value(cascade, row.theta);
    judge_scalar(row, scalar, verdicts);
  }

  void enclose(const RowInputs& row, std::span<double> lower, std::span<double> upper) const override {
    const PrecisionScope precision(113);
    RowCascade cascade(row.logits, row.theta);
    enclose_scalar(near_value(cascade, row.theta), row, &RowOracle::logsumexp, lower, upper);
  }

  void grant(const RowInputs& row, std::span<double> allowed) const override {
    RowCascade cascade(row.logits, row.theta);
    const Statistics statistics = statistics_of(cascade.statistics(), row.contract, row.logits, row.theta);
    allowed[0] =
        granted_scalar(row, logsumexp_error(row.contract, statistics), [&] { return near_value(cascade, row.theta); });
  }

  double nothing() const override { return -infinity; }
};

constinit const LogSumExp logsumexp_op;

}  // namespace

constinit const Op Op::logsumexp = logsumexp_op;

}  // namespace softcheck::proptests
