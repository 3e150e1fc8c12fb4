// Judges a call's one value, and rows that hold a NaN or an infinity.
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "judge/ops/rows/call_judge.hpp"
#include "judge/ops/rows/row_call.hpp"
#include "judge/ops/rows/row_description.hpp"
#include "judge/ops/rows/row_judge.hpp"
#include "judge/ops/rows/row_op.hpp"
#include "judge/trial/kernel_trial.hpp"
#include "numerics/formats/special_values.hpp"

namespace softcheck::proptests {

namespace {

using numerics::Decision;
using numerics::infinity;

// The row as the kernel got it: the case's text may have a finite logit where the call has an infinity.
std::string row_text(const RowMatrixCase& matrix, std::span<const double> logits) {
  std::string text =
      "row " + std::string(numerics::properties(matrix.format).name) + " theta=" + numerics::hex_float(matrix.theta);
  for (std::size_t i = 0, next = 0; i < logits.size(); i = next) {
    while (next < logits.size() &&
           std::bit_cast<std::uint64_t>(logits[next]) == std::bit_cast<std::uint64_t>(logits[i]))
      ++next;
    text += " " + numerics::hex_float(logits[i]) + (next - i > 1 ? "*" + std::to_string(next - i) : "");
  }
  return text;
}

}  // namespace

void KernelTrial::judge_call(const RowMatrixCase& matrix, const std::vector<double>& got, const std::string& remark,
                             Certificates& certificates) {
  RowVerdicts verdicts =
      proptests::judge_call(subject_.op, rows_of_call(matrix, subject_.op, subject_.contract), got.at(0));
  vacuity_ += verdicts.vacuity;
  const auto describe = [&] {
    CallDescription asked = describe_whole_call(matrix, subject_.op, subject_.contract.input, remark);
    asked.passed = kernel_.passed();
    return asked;
  };
  if (unbounded_row_.empty() && vacuity_.unbounded > 0) unbounded_row_ = describe().text();
  ++judged_rows_;
  const numerics::PrecisionScope precision(113);
  for (const ValueFinding& finding : verdicts.findings) {
    errors_.add(finding, [&] { return describe().text(); });
    CallDescription asked;
    if (finding.decision != Decision::proved) asked = describe();
    certificates.push_back(
        certificate_of(finding, std::move(asked), format_of_ulps(subject_.contract, subject_.contract.output)));
  }
}

KernelTrial::NanRow KernelTrial::nan_row(const RowMatrixCase& matrix, std::size_t row) const {
  const RowOp& op = subject_.op.rows();
  const std::vector<std::vector<double>> inputs = inputs_of(matrix, subject_.op, subject_.contract.input, row);
  if (op.ignores({subject_.contract, inputs[0], matrix.theta, std::span(inputs).subspan(1),
                  op.attributes(matrix.auxiliary, matrix.columns)})) {
    return NanRow::ignored;
  }
  const auto upstream = std::ranges::find(subject_.op->inputs, Role::upstream, &OpInput::role);
  if (upstream == subject_.op->inputs.end()) return NanRow::nan;
  const auto k = static_cast<std::size_t>(upstream - subject_.op->inputs.begin());
  return inputs[k][0] == 0 ? NanRow::nan_or_zero : NanRow::nan;
}

void KernelTrial::judge_nan_rows(const RowMatrixCase& matrix, const std::vector<double>& got, const std::string& remark,
                                 Certificates& certificates) const {
  KernelEvidence evidence;
  std::size_t wrong = 0;
  std::optional<std::size_t> before;
  for (const SpecialLogit& one : matrix.specials) {
    const std::size_t input = special_input(matrix, subject_.op, one.row);
    const bool fills = subject_.op->inputs[input].nan_reach == NanReach::row;
    if (is_infinite(one, matrix.format) || (fills && before == one.row)) continue;
    before = one.row;
    const std::size_t begin = fills ? 0 : one.item;
    std::span<const double> values = row_of(got, matrix, one.row);
    if (!fills) values = values.subspan(begin, 1);
    const NanRow kind = nan_row(matrix, one.row);
    const std::size_t width = subject_.op.rows().width(matrix.columns, matrix.auxiliary);
    for (std::size_t i = 0; i < values.size(); ++i) {
      const bool is_index = is_index_value(*subject_.op.operator->(), begin + i, matrix.columns, width);
      const bool right =
          is_index ? is_item(values[i], matrix.columns)
                   : (kind != NanRow::nan && values[i] == 0) || (kind != NanRow::ignored && std::isnan(values[i]));
      if (right) continue;
      if (wrong++ > 0) continue;
      const OpTraits& op = *subject_.op.operator->();
      const ValuePlace place = place_of_value(op, begin + i, matrix.columns, width);
      std::string due = is_index                      ? "an item's index"
                        : kind == NanRow::ignored     ? "0"
                        : kind == NanRow::nan_or_zero ? "NaN or 0"
                                                      : "NaN";
      if (place.output > 0) due += " as " + std::string(op.outputs[place.output]);
      evidence.asked = describe_call(matrix, remark, one.row);
      evidence.value = ReportedValue{place.item, std::nullopt, due, values[i], std::nullopt, subject_.contract.output};
      evidence.value->is_index = is_index;
    }
  }
  if (before) certificates.push_back(observed("kernel.nan_row", std::move(evidence), wrong));
}

void KernelTrial::judge_infinite_rows(const RowMatrixCase& matrix, const std::vector<double>& got,
                                      const std::string& remark, Certificates& certificates) const {
  for (std::size_t k = 0; k < matrix.specials.size();) {
    const std::size_t row = matrix.specials[k].row;
    std::vector<double> logits = matrix.rows[row].expand();
    bool has_nan = false;
    for (; k < matrix.specials.size() && matrix.specials[k].row == row; ++k) {
      has_nan |= !is_infinite(matrix.specials[k], matrix.format);
      logits[matrix.specials[k].item] = infinity;
    }
    if (!has_nan) judge_infinite_row(matrix, row, logits, got, remark, certificates);
  }
}

void KernelTrial::judge_infinite_row(const RowMatrixCase& matrix, std::size_t row, std::span<const double> logits,
                                     const std::vector<double>& got, const std::string& remark,
                                     Certificates& certificates) const {
  RowVerdicts limit = judge_limit(subject_.op, subject_.contract, logits, matrix.theta, row_of(got, matrix, row));
  const numerics::PrecisionScope precision(113);
  certificates.push_back(observed("kernel.infinite_row", CallDescription{"", remark}, 0));
  for (ValueFinding& finding : limit.findings) {
    if (finding.decision == Decision::proved) continue;
    finding.claim = "kernel.infinite_row";
    CallDescription asked = describe_call(matrix, remark, row);
    asked.case_text = asked.row_text = row_text(matrix, logits);
    certificates.push_back(
        certificate_of(finding, std::move(asked), format_of_ulps(subject_.contract, subject_.contract.output)));
  }
}

}  // namespace softcheck::proptests
