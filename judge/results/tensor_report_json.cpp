// A judgement of tensors as JSON.
#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "judge/ops/rows/row_call.hpp"
#include "judge/results/task_checks.hpp"
#include "judge/results/tensor_report.hpp"

namespace softcheck::proptests {
namespace {

using OrderedJson = nlohmann::ordered_json;

OrderedJson finite_or_null(double value) { return std::isfinite(value) ? OrderedJson(value) : OrderedJson(nullptr); }

OrderedJson tensor_json(const ReportedTensor& one) {
  OrderedJson result;
  result["role"] = one.role;
  result["place"] = printable_utf8(one.place);
  result["dtype"] = one.tensor->is_mask() ? "mask" : dtype_name(*one.tensor);
  result["shape"] = one.tensor->shape;
  return result;
}

OrderedJson worst_json(const JudgedTensorRow& row, const ReportedRow& shown) {
  OrderedJson result;
  result["row"] = row.index;
  if (!shown.of.empty()) result["of"] = shown.of;
  result["claim"] = shown.claim;
  result["verdict"] = shown.verdict;
  if (shown.item) result["item"] = *shown.item;
  if (shown.logit) result["logit"] = finite_or_null(*shown.logit);
  result["got"] = finite_or_null(shown.got);
  result["got_text"] = numerics::hex_float(shown.got);
  if (!shown.due.empty()) result["due"] = shown.due;
  if (shown.lower) result["expected"] = {finite_or_null(*shown.lower), finite_or_null(*shown.upper)};
  if (shown.ulps) {
    result["ulps"] = finite_or_null(*shown.ulps);
    result["format"] = numerics::properties(shown.format_of_ulps).name;
  }
  result["share"] = finite_or_null(shown.share);
  if (!shown.reason.empty()) result["reason"] = shown.reason;
  return result;
}

}  // namespace

std::string tensors_json(const TensorJudgement& judgement, const TensorTask& task, const numerics::Contract& contract,
                         std::span<const GivenTensor> outputs, std::span<const ReportedTensor> tensors,
                         std::size_t reported_rows) {
  // The claims as in every report, then the fields of tensors.
  OrderedJson result = OrderedJson::parse(to_json(Report{judgement.rows}));
  result["op"] = to_string(task.op);
  result["contract"] = numerics::to_string(contract);
  if (task.op->is_linear()) {
    result["ignore_index"] = task.attributes.ignore_index;
  } else if (task.op->is_attention()) {
    result["scale"] = task.scale;
    result["causal"] = task.causal;
    if (task.op->attributes) {
      result["window"] = {task.attributes.window_left_plus_1 - 1, task.attributes.window_right_plus_1 - 1};
      result["softcap"] = task.attributes.softcap;
      result["causal_top_left"] = task.attributes.causal_top_left;
    }
    if (task.attributes.sigmoid_bias) result["sigmoid_bias"] = *task.attributes.sigmoid_bias;
  } else if (!task.op->elements.empty()) {
    result["k"] = task.attributes.k;
    result["renormalize"] = task.attributes.renormalize;
    result["sigmoid"] = task.attributes.sigmoid;
    result["groups"] = task.attributes.groups;
    result["groups_kept"] = task.attributes.groups_kept;
    result["group_items"] = task.attributes.group_items;
    result["routed_scale"] = task.attributes.routed_scale;
  } else if (merges_states(task.op)) {
    result["lse_base2"] = task.attributes.lse_base2;
  } else {
    result["theta"] = task.theta;
  }
  if (task.op->filters) {
    result["top_p"] = task.attributes.top_p;
    result["min_p"] = task.attributes.min_p;
    result["k"] = task.attributes.k;
    result["renormalize"] = task.attributes.renormalize;
  }
  if (is_divergence(task.op)) result["reverse"] = task.attributes.reverse;
  if (is_loss(task.op)) {
    if (task.op->of_whole_calls) result["mean"] = task.attributes.mean;
    if (has_labels(task.op)) result["label_smoothing"] = task.attributes.label_smoothing;
    result["z_loss"] = task.attributes.z_loss;
    result["softcap"] = task.attributes.softcap;
    if (has_labels(task.op)) result["ignore_index"] = task.attributes.ignore_index;
  }
  result["tensors"] = OrderedJson::array();
  for (const ReportedTensor& one : tensors) result["tensors"].push_back(tensor_json(one));
  const std::size_t rows = rows_of_task(task);
  OrderedJson failing = OrderedJson::array();
  for (const RowRun& run : failing_runs(judgement, task)) failing.push_back({run.first, run.last});
  result["rows"] = {
      {"all", rows}, {"judged", judgement.judged}, {"failed", judgement.failed}, {"failing", std::move(failing)}};
  result["worst"] = OrderedJson::array();
  const std::span<const JudgedTensorRow> worst(judgement.worst);
  for (const JudgedTensorRow& row : worst.first(std::min(worst.size(), reported_rows))) {
    result["worst"].push_back(worst_json(row, reported_row(row, task, contract, outputs)));
  }
  result["profile"] = OrderedJson::array();
  for (const double share : judgement.profile) result["profile"].push_back(finite_or_null(share));
  result["histogram"] = {{"bin_width", slack_bin_width}, {"rows", judgement.histogram}};
  if (!judgement.ended_early.empty()) result["ended_early"] = judgement.ended_early;
  result["seconds"] = judgement.seconds;
  return result.dump(2) + "\n";
}

}  // namespace softcheck::proptests
