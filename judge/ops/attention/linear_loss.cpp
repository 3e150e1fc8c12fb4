#include "judge/ops/attention/linear_loss.hpp"

#include <cmath>
#include <utility>

#include "judge/ops/attention/attention_thresholds.hpp"
#include "judge/ops/rows/judged_row.hpp"
#include "judge/ops/rows/long_error.hpp"
#include "judge/ops/rows/softmax_bounds.hpp"
#include "numerics/enclosures/decision.hpp"
#include "numerics/formats/special_values.hpp"
#include "numerics/oracles/attention_oracle.hpp"
#include "numerics/rounding/rounding_cross_entropy.hpp"

namespace softcheck::proptests {

using namespace numerics;

AttentionRow LinearCall::row(std::size_t i) const {
  AttentionRow row;
  row.query = hidden.subspan(i * dim, dim);
  row.keys = weight;
  row.visible.assign(classes, labels[i] ? 1 : 0);
  row.label = labels[i];
  return row;
}

LinearLosses::LinearLosses(const AttentionTask& task, const LinearCall& call)
    : task_(task), call_(call), contract_(task.contract) {
  contract_.output = task.scalars;
}

RowVerdicts LinearLosses::judge(std::size_t i, double got) {
  const PrecisionScope precision(113);
  RowVerdicts verdicts;
  if (!call_.labels[i]) {
    ValueFinding finding;
    finding.claim = "kernel.masked_row";
    finding.by_identity = true;
    finding.due = "0";
    finding.got = got;
    finding.decision = got == 0 ? Decision::proved : Decision::violated;
    verdicts.findings.push_back(std::move(finding));
    return verdicts;
  }
  const Judgeable& value = this->value(i);
  verdicts.vacuity.add_row(value.threshold == infinity, !value.limits.may_overflow);
  ClaimVerdict verdict(
      task_.op->claims[0], contract_, [this, i](std::optional<std::size_t>) { return exact(i); }, verdicts);
  verdict.add(std::nullopt, value, got);
  verdict.report();
  return verdicts;
}

double LinearLosses::threshold(std::size_t i) {
  const PrecisionScope precision(113);
  return granted(contract_, value(i));
}

const Judgeable& LinearLosses::value(std::size_t i) {
  const AttentionRow row = call_.row(i);
  std::string question(row.label ? std::to_string(*row.label) : "");
  question.append(reinterpret_cast<const char*>(row.query.data()), row.query.size_bytes());
  const auto found = known_.find(question);
  return found != known_.end() ? found->second : known_.emplace(question, computed(row)).first->second;
}

Judgeable LinearLosses::computed(const AttentionRow& row) const {
  Judgeable result;
  if (!row.label) return result;
  const VisibleKeys visible(task_.contract, row);
  result.limits.may_overflow = visible.may_overflow;
  result.threshold = infinity;
  result.vacuous = true;
  const LongSoftmax softmax(visible.scores);
  if (!softmax.usable()) return result;
  const LongApproximation log_sum = softmax.log_sum(), deviation = softmax.deviation(*row.label);
  const long double loss = log_sum.value + deviation.value;
  result.exact = {loss,
                  long_error::second_order * (log_sum.error + deviation.error + long_error::unit * std::fabs(loss))};

  // The logits are numbers of the accumulator, or stored.
  Contract of_logits = contract_;
  of_logits.input = task_.contract.scores.value_or(task_.contract.accumulator);
  CrossEntropyOptions options;
  for (const UpperBound& error : visible.score_errors) {
    options.logit_error = std::fmax(options.logit_error, upper(error));
  }
  if (!std::isfinite(options.logit_error)) return result;
  CrossEntropyRow<UpperBound> bounded;
  bounded.statistics = score_statistics(softmax);
  bounded.statistics.size = row.visible.size();
  bounded.statistics.rescalings = rescalings_of(task_.contract, visible, row.visible.size());
  bounded.target_deviation = at_most(deviation);
  bounded.loss_magnitude = size_of(result.exact);
  if (!visible.may_overflow) {
    result.threshold = upper(cross_entropy_error(of_logits, options, bounded).total());
  }
  result.magnitude = static_cast<double>(loss);
  // Differences of two logits keep only their absolute accuracy.
  const bool cancels = !of_logits.has_centred_lse();
  const UpperBound sizes = bounded.statistics.largest_magnitude + bounded.statistics.logsumexp_magnitude;
  result.resolution = 2 * options.logit_error + resolution_of_logarithms(of_logits, bounded.statistics) +
                      (cancels ? properties(of_logits.accumulator).unit_roundoff * upper(sizes) : 0);
  result.vacuous =
      is_vacuous(upper(cross_entropy_error(of_logits, options, bounded, Grants::none).rounding), result.magnitude);
  return result;
}

Enclosure LinearLosses::exact(std::size_t i) const {
  const AttentionRow row = call_.row(i);
  if (!row.label) return Enclosure(0);
  const AttentionInputs inputs{.query = row.query, .keys = row.keys, .values = {}, .items = row.visible.size()};
  return -AttentionOracle(inputs).scores().log_softmax(*row.label);
}

LinearGradient::LinearGradient(const LinearCall& call, const std::vector<bool>& chosen)
    : no_values_(call.classes), no_gradients_(call.rows()), no_hidden_(call.dim) {
  group_.keys = group_.own_keys = call.classes;
  group_.out_gradients = no_gradients_;
  group_.lse_gradients = call.upstream;
  for (std::size_t i = 0; i < call.rows(); ++i) {
    group_.rows.push_back(call.row(i));
    if (!call.labels[i]) group_.rows.back().query = no_hidden_;  // its numbers may be NaN
    group_.rows.back().values = no_values_;
    group_.rows.back().value_size = 1;
    if (!chosen.empty()) group_.chosen.push_back(chosen[i] || !call.labels[i]);
  }
}

AttentionTask LinearGradient::task(AttentionTask task) {
  task.contract.masked = MaskedRows::zero;
  return task;
}

}  // namespace softcheck::proptests
