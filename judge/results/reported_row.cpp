#include "judge/results/reported_row.hpp"

#include <cstring>

#include "judge/call/evidence.hpp"
#include "judge/results/task_checks.hpp"
#include "judge/results/task_rows.hpp"
#include "judge/trial/kernel_claims.hpp"
#include "numerics/enclosures/enclosure.hpp"

namespace softcheck::proptests {
namespace {

// Where the row lies in a tensor whose leading dimensions it walks; then the item.
std::optional<double> logit_at(const GivenTensor& logits, std::span<const std::int64_t> row, std::size_t item) {
  if (!logits.format || row.size() + 1 != logits.shape.size()) return std::nullopt;
  std::int64_t offset = static_cast<std::int64_t>(item) * logits.strides.back();
  for (std::size_t axis = 0; axis < row.size(); ++axis) offset += row[axis] * logits.strides[axis];
  const auto bytes = static_cast<std::size_t>(numerics::properties(*logits.format).storage_bits) / 8;
  std::uint64_t bits = 0;
  std::memcpy(&bits, logits.first + offset * static_cast<std::int64_t>(bytes), bytes);
  return numerics::decode(*logits.format, bits);
}

// Ids stand behind as many weights.
std::size_t first_item_of_claim(const TensorTask& task, std::string_view claim) {
  const std::string_view output = output_of_claim(task.op, claim);
  return !task.op->elements.empty() && output == task.op->outputs.back() ? static_cast<std::size_t>(task.attributes.k)
                                                                         : 0;
}

// The results of whole rows have the format of the first of them that is at hand.
numerics::Format format_of_claim(std::string_view claim, const TensorTask& task, const numerics::Contract& contract,
                                 std::span<const GivenTensor> outputs) {
  if (!is_scalar_claim(task.op, claim)) return contract.output;
  for (std::size_t k = 1; k < outputs.size(); ++k) {
    const std::size_t which = number_of_output(task, k);
    const bool of_rows = !has_parts(task.op) || task.op->extents[which] == Extent::rows;
    if (of_rows && outputs[k].format) return *outputs[k].format;
  }
  return contract.output;
}

const char* word_of_decision(numerics::Decision decision) {
  return to_string(report_verdict(numerics::verdict_of(decision)));
}

}  // namespace

ReportedRow reported_row(const JudgedTensorRow& row, const TensorTask& task, const numerics::Contract& contract,
                         std::span<const GivenTensor> outputs) {
  const numerics::PrecisionScope precision(113);
  const ValueFinding& finding = row.finding;
  ReportedRow shown;
  const std::vector<RowBlock> blocks = row_blocks(task);
  shown.of = output_of_claim(task.op, finding.claim);
  if (shown.of.empty() && blocks.size() > 1) shown.of = place_of_row(blocks, row.row).kind;
  shown.index = shown.of + list_text(row.index);
  shown.claim = finding.claim;
  shown.item = finding.item;
  // The items of a row's second vector follow those of the first.
  const std::size_t first = first_item_of_claim(task, finding.claim);
  if (shown.item && *shown.item >= first) *shown.item -= first;
  if (finding.item && !task.op->attention && !has_parts(task.op))
    shown.logit = logit_at(task.inputs[0], row.index, *finding.item);
  shown.got = finding.got;
  shown.share = row.share;
  shown.verdict = word_of_decision(finding.decision);
  shown.reason = finding.reason;
  shown.due = finding.due;
  shown.format = format_of_claim(finding.claim, task, contract, outputs);
  if (finding.by_identity || finding.expected.is_nan()) return shown;
  shown.lower = finding.expected.lower_double();
  shown.upper = finding.expected.upper_double();
  const numerics::Certificate certificate = certificate_of(finding, {}, format_of_ulps(contract, shown.format));
  const KernelEvidence* const evidence = evidence_of(certificate);
  if (evidence != nullptr && evidence->value) {
    shown.ulps = evidence->value->ulps;
    shown.format_of_ulps = evidence->value->format;
  }
  return shown;
}

}  // namespace softcheck::proptests
