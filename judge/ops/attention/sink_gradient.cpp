#include "judge/ops/attention/sink_gradient.hpp"

#include <utility>
#include <vector>

#include "judge/ops/rows/row_elements.hpp"
#include "judge/ops/rows/softmax_bounds.hpp"
#include "numerics/formats/special_values.hpp"

namespace softcheck::proptests {

using namespace numerics;

namespace {

RowVerdicts sink_must_be_zero(double got) {
  ValueFinding finding;
  finding.claim = "kernel.masked_row";
  finding.by_identity = true;
  finding.due = "0";
  finding.decision = got == 0 ? Decision::proved : Decision::violated;
  finding.got = got;
  RowVerdicts verdicts;
  verdicts.findings.push_back(std::move(finding));
  return verdicts;
}

}  // namespace

SinkGradient::SinkGradient(const AttentionTask& task, std::vector<GradientGroup> batches)
    : task_(task), contract_(task.contract) {
  const PrecisionScope precision(113);
  contract_.output = task.scalars;
  for (GradientGroup& group : batches) {
    batches_.emplace_back(task_, std::move(group));
    queries_ += batches_.back().pairs.size();
  }
}

// Skips queries that see no key: their output is 0, so delta is 0 whatever the sink's weight is.
template <class Each>
void SinkGradient::each_seeing(Each each) const {
  for (std::size_t b = 0; b < batches_.size(); ++b) {
    for (std::size_t i = 0; i < batches_[b].pairs.size(); ++i) {
      if (!batches_[b].pairs[i].keys().empty()) each(b, i);
    }
  }
}

SinkGradient::Sum SinkGradient::sum() const {
  Sum result;
  ProductSum sum;
  double size = 0;
  bool overflow = false;
  std::vector<BackwardPairError> errors;
  each_seeing([&](std::size_t b, std::size_t i) {
    const QueryPairs& pairs = batches_[b].pairs[i];
    result.usable = result.usable && pairs.usable();
    if (!pairs.usable()) return;
    result.unbounded = result.unbounded || pairs.unbounded();
    overflow = overflow || pairs.may_overflow();
    sum.add(pairs.sink_gradient());
    size += pairs.sink_size();
    errors.push_back(pairs.sink_error());
  });
  if (!result.usable || errors.empty()) return result;
  const LongApproximation exact = sum.total();
  const ScalarThreshold<UpperBound> threshold =
      sink_gradient_error(contract_, errors, summation_height(contract_, queries_), size_of(exact));
  result.value = Judgeable{exact, upper(threshold.total()), size, 0, is_vacuous(upper(threshold.rounding), size)};
  result.value->limits.may_overflow = overflow;
  return result;
}

RowVerdicts SinkGradient::judge(double got) {
  const PrecisionScope precision(113);
  const Sum found = sum();
  if (found.usable && !found.value) return sink_must_be_zero(got);
  RowVerdicts verdicts;
  verdicts.vacuity.add_row(!found.usable || found.unbounded);
  if (!found.usable) {  // the scores' errors are too large
    ++verdicts.vacuity.judged;
    ++verdicts.vacuity.vacuous;
    return verdicts;
  }
  ClaimVerdict verdict(
      task_.op->claims[3], contract_, [this](std::optional<std::size_t>) { return enclosed(); }, verdicts);
  verdict.add(std::nullopt, *found.value, got);
  verdict.report();
  return verdicts;
}

Enclosure SinkGradient::enclosed() {
  Enclosure sum;
  each_seeing([&](std::size_t b, std::size_t i) { sum += batches_[b].oracles.of(i).sink_gradient; });
  return sum;
}

void SinkGradient::exact(double& lower, double& upper) {
  const PrecisionScope precision(113);
  const Enclosure exact = refined(enclosed(), [this] { return enclosed(); });
  lower = exact.lower_double();
  upper = exact.upper_double();
}

double SinkGradient::granted() const {
  const PrecisionScope precision(113);
  const Sum found = sum();
  if (!found.usable) return infinity;
  return found.value ? proptests::granted(contract_, *found.value) : 0;
}

std::optional<RowVerdicts> judge_sink_gradient(const AttentionTask& task, const AttentionCase& attention, std::size_t h,
                                               double got,
                                               const std::function<bool(std::size_t, std::size_t)>& chosen) {
  std::vector<GradientGroup> batches;
  for (std::size_t b = 0; b < attention.shape.batch; ++b) {
    for (std::size_t i = 0; chosen && i < attention.queries_of(b); ++i) {
      if (!chosen(b, i)) return std::nullopt;
    }
    batches.push_back(head_queries(attention, b, h));
  }
  return SinkGradient(task, std::move(batches)).judge(got);
}

}  // namespace softcheck::proptests
