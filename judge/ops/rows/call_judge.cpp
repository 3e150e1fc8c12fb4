#include "judge/ops/rows/call_judge.hpp"

#include <algorithm>
#include <cmath>
#include <memory>
#include <optional>
#include <span>
#include <utility>

#include "judge/ops/rows/row_elements.hpp"
#include "numerics/formats/special_values.hpp"

namespace softcheck::proptests {

using namespace numerics;

namespace {

RowVerdicts due_value(std::string_view claim, double got, bool nan_is_due) {
  ValueFinding finding;
  finding.claim = claim;
  finding.by_identity = true;
  finding.got = got;
  finding.due = nan_is_due ? "NaN" : "0";
  finding.decision = (nan_is_due ? std::isnan(got) : got == 0) ? Decision::proved : Decision::violated;
  RowVerdicts verdicts;
  verdicts.findings.push_back(std::move(finding));
  return verdicts;
}

// A mean divides 0 by 0.
bool is_nan_of_nothing(const CallOfRows& call) {
  return call.attributes.mean && call.contract.masked == MaskedRows::nan;
}

}  // namespace

CountedRows counted_rows(Op op, const CallOfRows& call) {
  CountedRows rows;
  bool nan = false, infinite = false;
  double total = 0;
  call.each([&](const RowInputs& row) {
    rows.empty = rows.empty && row.logits.empty();
    const std::optional<double> weight = op.rows().weight_in_call(row);
    if (!weight) return;
    rows.weights.add(*weight);
    total += *weight;
    nan = nan || std::ranges::any_of(row.logits, [](double x) { return std::isnan(x); });
    infinite = infinite || op.rows().due(row) != RowOp::Due::values;
  });
  rows.divides_by_nothing = call.attributes.mean && total == 0 && !rows.weights.empty();
  rows.state = rows.weights.empty()                  ? CallState::nothing
               : nan                                 ? CallState::nan
               : infinite || rows.divides_by_nothing ? CallState::unasked
                                                     : CallState::usual;
  return rows;
}

RowVerdicts judge_call(Op op, const CallOfRows& call, double got) {
  const FpEnvironmentGuard environment;
  const PrecisionScope precision(113);
  const CountedRows rows = counted_rows(op, call);
  switch (rows.state) {
    case CallState::nan:
      return due_value("kernel.nan_row", got, true);
    case CallState::nothing:
      return due_value(rows.empty ? "kernel.masked_row" : op->claims[0], got, is_nan_of_nothing(call));
    case CallState::unasked:
      return {};
    case CallState::usual:
      break;
  }
  RowVerdicts verdicts;
  const std::unique_ptr<RowElements> of = op.rows().call_elements(call);
  const JudgedRow value{{call.contract, {}}, std::span(&got, 1)};
  judge_elements(op.rows(), Extent::rows, value, *of, verdicts);
  return verdicts;
}

void exact_call(Op op, const CallOfRows& call, double& lower, double& upper) {
  const PrecisionScope precision(113);
  const CallState state = counted_rows(op, call).state;
  lower = upper = state == CallState::nothing && !is_nan_of_nothing(call) ? 0 : nan;
  if (state != CallState::usual) return;
  const std::unique_ptr<RowElements> of = op.rows().call_elements(call);
  const Enclosure value = refined(of->value(0), [&] { return of->value(0); });
  lower = value.lower_double();
  upper = value.upper_double();
}

double granted_call(Op op, const CallOfRows& call) {
  const PrecisionScope precision(113);
  const CallState state = counted_rows(op, call).state;
  if (state == CallState::nothing && !is_nan_of_nothing(call)) return 0;
  if (state != CallState::usual) return nan;
  const std::unique_ptr<RowElements> of = op.rows().call_elements(call);
  return of->promised ? granted(call.contract, *of, 0) : infinity;
}

}  // namespace softcheck::proptests
