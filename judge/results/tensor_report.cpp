#include "judge/results/tensor_report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>

#include "judge/call/evidence.hpp"
#include "judge/ops/rows/row_call.hpp"
#include "judge/results/given_tensor.hpp"
#include "judge/results/task_checks.hpp"
#include "judge/results/tensor_tally.hpp"
#include "judge/trial/kernel_claims.hpp"
#include "judge/verdict/certificate_text.hpp"
#include "numerics/enclosures/enclosure.hpp"

namespace softcheck::proptests {
namespace {

constexpr std::size_t most_runs_reported = 3;

// A row's number, and its index if that says more: "517 [0, 2, 17]", "3 (key [0, 0, 3])".
std::string row_text(std::size_t row, const std::vector<RowBlock>& blocks) {
  const RowPlace place = place_of_row(blocks, row);
  const std::string text = std::to_string(row);
  if (blocks.size() == 1) return place.index.size() < 2 ? text : text + " " + list_text(place.index);
  return text + " (" + std::string(place.kind) + " " + list_text(place.index) + ")";
}

std::string run_text(const RowRun& run, const std::vector<RowBlock>& blocks) {
  const std::string first = row_text(run.first, blocks);
  return run.first == run.last ? first : first + " to " + row_text(run.last, blocks);
}

// Enough decimals to tell any two numbers of the format apart.
std::string number_text(double value, numerics::Format format, int more_digits = 0) {
  const int digits =
      1 + static_cast<int>(std::ceil(numerics::properties(format).precision * std::log10(2.0))) + more_digits;
  return fmt::format("{:.{}g}", value, digits);
}

// Appends rows first to last, merging them with an adjacent run.
void append_run(std::vector<RowRun>& runs, std::size_t first, std::size_t last) {
  if (!runs.empty() && runs.back().last + 1 == first) {
    runs.back().last = last;
  } else {
    runs.push_back({first, last});
  }
}

std::vector<RowRun> runs_of_worst(const TensorJudgement& judgement) {
  std::vector<std::size_t> failed;
  for (const JudgedTensorRow& row : judgement.worst) {
    if (row.finding.decision == numerics::Decision::violated) failed.push_back(row.row);
  }
  std::ranges::sort(failed);
  std::vector<RowRun> runs;
  for (const std::size_t row : failed) append_run(runs, row, row);
  return runs;
}

std::vector<RowRun> runs_of_profile(const TensorJudgement& judgement, std::size_t rows) {
  const std::size_t stretches = judgement.profile.size();
  // Row r belongs to stretch floor(r * stretches / rows).
  const auto begin = [&](std::size_t stretch) { return (stretch * rows + stretches - 1) / stretches; };
  std::vector<RowRun> runs;
  for (std::size_t i = 0; i < stretches; ++i) {
    if (judgement.profile[i] > 1) append_run(runs, begin(i), begin(i + 1) - 1);
  }
  return runs;
}

using Cells = std::array<std::string, 8>;

Cells cells_of(const ReportedRow& row) {
  // The exact value needs more digits than the result, so that the two do not look alike.
  constexpr int more_digits = 3;
  std::string exact = row.due.empty() ? "-" : row.due;
  // If the enclosure contains 0, its midpoint means nothing.
  if (row.lower && *row.lower <= 0 && *row.upper >= 0) exact = "0";
  if (row.lower && exact != "0") {
    exact = number_text(*row.lower + (*row.upper - *row.lower) / 2, row.format, more_digits);
  }
  if (row.lower && !row.due.empty()) exact = row.due + " or " + exact;
  const std::string of =
      row.format_of_ulps == row.format ? "" : fmt::format("({})", numerics::properties(row.format_of_ulps).name);
  return {row.index,
          row.item ? std::to_string(*row.item) : "-",
          row.logit ? fmt::format("{:.6g}", *row.logit) : "-",
          number_text(row.got, row.format),
          exact,
          row.ulps && leaves_a_digit(*row.ulps, row.format_of_ulps) ? fmt::format("{:.4g} ulp{}", *row.ulps, of) : "-",
          std::isfinite(row.share) ? fmt::format("{:.4g}", row.share) : "-",
          row.verdict};
}

// The logit of an item in this row, for tensors whose leading dimensions are the rows.
std::optional<double> logit_at(const GivenTensor& logits, std::span<const std::int64_t> row, std::size_t item) {
  if (!logits.format || row.size() + 1 != logits.shape.size()) return std::nullopt;
  std::int64_t offset = static_cast<std::int64_t>(item) * logits.strides.back();
  for (std::size_t axis = 0; axis < row.size(); ++axis) offset += row[axis] * logits.strides[axis];
  const auto bytes = static_cast<std::size_t>(numerics::properties(*logits.format).storage_bits) / 8;
  std::uint64_t bits = 0;
  std::memcpy(&bits, logits.first + offset * static_cast<std::int64_t>(bytes), bytes);
  return numerics::decode(*logits.format, bits);
}

// In a top-k row the ids follow k weights.
std::size_t first_item_of_claim(const TensorTask& task, std::string_view claim) {
  const std::string_view output = output_of_claim(task.op, claim);
  return !task.op->elements.empty() && output == task.op->outputs.back() ? static_cast<std::size_t>(task.attributes.k)
                                                                         : 0;
}

// Row scalars have the format of the first one that the caller has.
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

std::string parameters_text(const TensorTask& task) {
  const Attributes& a = task.attributes;
  std::string text;
  if (task.op->is_linear()) return fmt::format(", ignore_index {}", a.ignore_index);
  if (task.op->is_attention()) {
    text = fmt::format(", scale {}{}", task.scale, task.causal ? ", causal" : "");
    const auto window = [](std::int64_t plus_1) { return plus_1 == 0 ? "all" : std::to_string(plus_1 - 1); };
    if (a.window_left_plus_1 != 0 || a.window_right_plus_1 != 0) {
      text += fmt::format(", window {}:{}", window(a.window_left_plus_1), window(a.window_right_plus_1));
    }
    if (a.softcap != 0) text += fmt::format(", softcap {}", a.softcap);
    if (a.sigmoid_bias) text += fmt::format(", sigmoid_bias {}", *a.sigmoid_bias);
    return text + (a.causal_top_left ? ", top-left" : "");
  }
  if (task.theta != 1) text = fmt::format(", theta {}", task.theta);
  if (a.top_p != 0) text += fmt::format(", top_p {}", a.top_p);
  if (a.min_p != 0) text += fmt::format(", min_p {}", a.min_p);
  if (a.k != 0) text += fmt::format(", k {}{}", a.k, a.renormalize ? ", renormalized" : "");
  if (a.sigmoid) text += ", sigmoid";
  if (a.groups != 0) text += fmt::format(", {} of {} groups by {}", a.groups_kept, a.groups, a.group_items);
  if (a.routed_scale != 0) text += fmt::format(", routed_scale {}", a.routed_scale);
  if (merges_states(task.op)) text += a.lse_base2 ? ", base 2" : ", base e";
  if (a.reverse) text += ", reverse";
  if (!is_loss(task.op)) return text;
  if (task.op->of_whole_calls) text += a.mean ? ", mean" : ", sum";
  if (a.label_smoothing != 0) text += fmt::format(", label_smoothing {}", a.label_smoothing);
  if (a.z_loss != 0) text += fmt::format(", z_loss {}", a.z_loss);
  if (a.softcap != 0) text += fmt::format(", softcap {}", a.softcap);
  return has_labels(task.op) ? text + fmt::format(", ignore_index {}", a.ignore_index) : text;
}

std::vector<RowRun> failing_runs(const TensorJudgement& judgement, const TensorTask& task) {
  if (judgement.failed == 0) return {};
  return judgement.failed <= judgement.worst.size() ? runs_of_worst(judgement)
                                                    : runs_of_profile(judgement, rows_of_task(task));
}

std::string failing_text(const TensorJudgement& judgement, const TensorTask& task) {
  const std::size_t rows = rows_of_task(task);
  const std::vector<RowRun> runs = failing_runs(judgement, task);
  if (runs.empty()) return "";
  const std::vector<RowBlock> blocks = row_blocks(task);
  std::string list;
  std::size_t inside = 0;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    inside += runs[i].last - runs[i].first + 1;
    if (i < most_runs_reported) list += (list.empty() ? "" : ", ") + run_text(runs[i], blocks);
  }
  if (runs.size() > most_runs_reported) list += fmt::format(" and {} more places", runs.size() - most_runs_reported);
  const std::string count = fmt::format("{} of {} rows fail", judgement.failed, rows);
  const char* const noun = inside == 1 ? "row" : "rows";
  return inside == judgement.failed ? fmt::format("{}: {} {}", count, noun, list)
                                    : fmt::format("{}, all within {} {}", count, noun, list);
}

std::string tensors_text(std::span<const ReportedTensor> tensors) {
  std::size_t role_width = 0, place_width = 0;
  for (const ReportedTensor& one : tensors) {
    role_width = std::max(role_width, one.role.size());
    place_width = std::max(place_width, escaped_text(one.place).size());
  }
  std::string text;
  for (const ReportedTensor& one : tensors) {
    text += fmt::format("  {:<{}}  {:<{}}  {:<5} {}\n", one.role, role_width, escaped_text(one.place), place_width,
                        one.tensor->is_mask() ? "mask" : dtype_name(*one.tensor), shape_text(one.tensor->shape));
  }
  return text;
}

std::string worst_text(const TensorJudgement& judgement, const TensorTask& task, const numerics::Contract& contract,
                       std::span<const GivenTensor> outputs, std::size_t reported_rows) {
  const std::span<const JudgedTensorRow> worst(judgement.worst.data(), std::min(judgement.worst.size(), reported_rows));
  if (worst.empty()) return "";
  const bool of_logits = task.op->is_attention() || task.op->inputs[0].role == Role::logits;
  const std::string first_input = of_logits ? "logit" : std::string(to_string(task.op->inputs[0].role));
  std::vector<Cells> lines{{"row", "item", first_input, "got", "exact", "error", "of threshold", "verdict"}};
  std::vector<std::string> remarks{""};
  const std::string usual_claim(worst.front().finding.claim);
  for (const JudgedTensorRow& row : worst) {
    const ReportedRow shown = reported_row(row, task, contract, outputs);
    lines.push_back(cells_of(shown));
    // The claim, if the table has several, and the broken rule, if it was no threshold.
    std::string remark = shown.claim == usual_claim ? "" : shown.claim;
    if (!shown.reason.empty()) remark += (remark.empty() ? "" : ": ") + shown.reason;
    remarks.push_back(std::move(remark));
  }
  std::array<std::size_t, std::tuple_size_v<Cells>> width{};
  for (const Cells& line : lines) {
    for (std::size_t i = 0; i < line.size(); ++i) width[i] = std::max(width[i], line[i].size());
  }
  const bool any_logit =
      std::ranges::any_of(lines.begin() + 1, lines.end(), [](const Cells& c) { return c[2] != "-"; });
  std::string text = fmt::format("the worst {} by {}\n", worst.size() == 1 ? "row" : "rows", usual_claim);
  for (std::size_t k = 0; k < lines.size(); ++k) {
    std::string line = fmt::format("  {:<{}}", lines[k][0], width[0]);
    for (std::size_t i = 1; i + 1 < lines[k].size(); ++i) {
      if (i != 2 || any_logit) line += fmt::format("  {:>{}}", lines[k][i], width[i]);
    }
    line += "  " + lines[k].back();
    if (!remarks[k].empty()) line += fmt::format("{:{}}  {}", "", width.back() - lines[k].back().size(), remarks[k]);
    text += line + "\n";
  }
  return text;
}

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
  // The items of a row's second output follow those of the first.
  const std::size_t first = first_item_of_claim(task, finding.claim);
  if (shown.item && *shown.item >= first) *shown.item -= first;
  if (finding.item && !task.op->is_attention() && !has_parts(task.op))
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
