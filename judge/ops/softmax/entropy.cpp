#include <array>
#include <optional>

#include "judge/ops/rows/argument_form.hpp"
#include "judge/ops/rows/row_op.hpp"
#include "judge/ops/rows/row_scalar.hpp"
#include "numerics/formats/next_double.hpp"
#include "numerics/formats/special_values.hpp"
#include "numerics/rounding/flushed_output.hpp"

namespace softcheck::proptests {
namespace {

using namespace numerics;

class Entropy final : public RowOp {
  static ArgumentThreshold threshold(const Contract& contract, const Statistics& statistics) {
    const auto value = contracted_entropy_error(contract, statistics);
    return {upper(value.rounding), 0, threshold_of_result(contract, upper(value.floor), 1), infinity};
  }
  static constexpr ArgumentForm form{ArgumentValue::entropy, &threshold};
  static constexpr std::array inputs{OpInput{Role::logits}};
  static constexpr std::array<std::string_view, 1> outputs{"output"}, claims{"kernel.entropy.value"};
  static constexpr std::array<std::string_view, 2> words{"entropy_from", "theta"};

  // Whatever logits the kernel computed, their exact entropy lies in [0, ln n].
  static ResultLimits entropy_limits(const Contract& contract, const Statistics& statistics) {
    const Statistics widest = widest_statistics(statistics.size, statistics.visible, statistics.rescalings,
                                                2 * upper(statistics.largest_magnitude));
    const double error = upper(contracted_entropy_error(over_computed_logits(contract), widest).total());
    return {next_below(-error), next_above(upper(widest.log_sum) + error),
            "no entropy is negative or beyond ln n by more than the errors of the sums"};
  }

  static Enclosure near_value(RowCascade& cascade) {
    const ExactSums sums(cascade);
    return log1p(sums.sum_minus_one) + sums.weighted_deviation / (sums.sum_minus_one + 1);
  }

 public:
  constexpr Entropy()
      : RowOp({.name = "entropy",
               .inputs = inputs,
               .outputs = outputs,
               .claims = claims,
               .one_value_per_row = true,
               .answers = {.words = words}}) {}

  const ArgumentForm* arguments() const override { return &form; }

  void judge(const JudgedRow& row, RowVerdicts& verdicts) const override {
    RowCascade cascade(row.logits, row.theta);
    const Statistics statistics = statistics_of(cascade.statistics(), row.contract, row.logits, row.theta);
    RowScalar scalar{claims[0], contracted_entropy_error(row.contract, statistics),
                     contracted_entropy_error(row.contract, statistics, Grants::none), Enclosure(0)};
    scalar.decision = cascade.judge_entropy(row.got[0], allowed_of(row, scalar.threshold));
    scalar.resolution = resolution_of_entropies(row.contract, statistics);
    scalar.resolved = is_resolved(row.contract, statistics, !row.contract.has_centred_entropy());
    const PrecisionScope precision(113);
    scalar.exact = near_value(cascade);
    const double undershoot = upper(entropy_undershoot(row.contract, statistics));
    if (const auto reason = entropy_out_of_range(row.contract, row.got[0], undershoot)) {
      verdicts.findings.push_back(
          {claims[0], std::nullopt, scalar.exact, row.got[0], undershoot, Decision::violated, {}, false, *reason});
    }
    scalar.limits = entropy_limits(row.contract, statistics);
    judge_scalar(row, scalar, verdicts);
  }

  void enclose(const RowInputs& row, std::span<double> lower, std::span<double> upper) const override {
    const PrecisionScope precision(113);
    RowCascade cascade(row.logits, row.theta);
    enclose_scalar(near_value(cascade), row, &RowOracle::entropy, lower, upper);
  }

  void grant(const RowInputs& row, std::span<double> allowed) const override {
    RowCascade cascade(row.logits, row.theta);
    const Statistics statistics = statistics_of(cascade.statistics(), row.contract, row.logits, row.theta);
    allowed[0] =
        granted_scalar(row, contracted_entropy_error(row.contract, statistics), [&] { return near_value(cascade); });
  }

  Enclosure uniform(std::uint64_t n) const override { return log(Enclosure::integer(n)); }
};

constinit const Entropy entropy_op;

}  // namespace

constinit const Op Op::entropy = entropy_op;

}  // namespace softcheck::proptests
