#include "judge/results/task_parameters.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "judge/ops/rows/row_call.hpp"
#include "judge/results/task_checks.hpp"

namespace softcheck::proptests {
namespace {

[[noreturn]] void refuse_parameter(const char* name, const std::string& need, double got) {
  throw std::invalid_argument(std::string(name) + ": need " + need + ", got " + std::to_string(got));
}

// A parameter of some ops: in its range there, and off elsewhere.
void require_within(const char* name, Op op, bool of_op, double value, bool is_right, const std::string& range) {
  if (of_op ? is_right : value == 0) return;
  refuse_parameter(name, of_op ? range : "0, as " + std::string(to_string(op)) + " has none", value);
}

void require_attributes(const TensorTask& task) {
  const Attributes& a = task.attributes;
  const Op op = task.op;
  const bool labels = has_labels(op), chooses = !op->elements.empty(), scores = op->attributes;
  const auto within = [&](const char* name, bool of_op, double value, bool is_right, const std::string& range) {
    require_within(name, op, of_op, value, is_right, range);
  };
  within("label_smoothing", labels, a.label_smoothing, a.label_smoothing >= 0 && a.label_smoothing <= 1,
         "a number in [0, 1]");
  within("z_loss", labels, a.z_loss, a.z_loss >= 0 && std::isfinite(a.z_loss), "a finite number >= 0");
  within("mean", op->of_whole_calls, a.mean ? 1 : 0, true, "");
  const bool weighted_z = op->of_whole_calls && input_of(task, Role::class_weights) != nullptr && a.z_loss != 0;
  if (weighted_z) refuse_parameter("z_loss", "0 beside class_weights, whose mean no two libraries agree on", a.z_loss);
  within("lse_base2", merges_states(op), a.lse_base2 ? 1 : 0, true, "");
  within("renormalize", chooses, a.renormalize ? 1 : 0, true, "");
  const GivenTensor* const row = chooses ? input_of(task, op->inputs[0].role) : nullptr;
  const std::int64_t items = row == nullptr || row->shape.empty() ? 0 : row->shape.back();
  const std::int64_t least = std::min<std::int64_t>(items, 1);
  within("k", chooses, a.k, a.k >= least && a.k <= items,
         "a number of items from " + std::to_string(least) + " to " + std::to_string(items));
  const auto share = [&](const char* name, double value) {
    within(name, op->filters, value, value >= 0 && value <= 1, "a number in (0, 1], or 0 for none");
  };
  share("top_p", a.top_p);
  share("min_p", a.min_p);
  within("softcap", labels || scores, a.softcap, a.softcap >= 0 && std::isfinite(a.softcap), "a finite number >= 0");
  const auto window = [&](const char* name, std::int64_t plus_1) {
    within(name, scores, static_cast<double>(plus_1), plus_1 >= 0, "a number of keys, or 0 for all");
  };
  window("window_left_plus_1", a.window_left_plus_1);
  window("window_right_plus_1", a.window_right_plus_1);
  within("causal_top_left", scores, a.causal_top_left ? 1 : 0, true, "");
}

}  // namespace

void require_parameters(const TensorTask& task) {
  const std::string op(to_string(task.op));
  if (!task.op->has_theta && task.theta != 1)
    refuse_parameter("theta", "1, as " + op + " has no temperature", task.theta);
  // The judge's own arithmetic holds in this range (numerics/filter/row_filter.hpp).
  if (!(task.theta >= 0x1p-1000 && task.theta <= 0x1p1000)) {
    refuse_parameter("theta", "a temperature in [2^-1000, 2^1000]", task.theta);
  }
  if (!task.op->attention && task.scale != 1) refuse_parameter("scale", "1, as " + op + " has none", task.scale);
  if (!std::isfinite(task.scale)) refuse_parameter("scale", "a finite number", task.scale);
  if (!task.op->attention && task.causal) throw std::invalid_argument("causal: need false, as " + op + " has none");
  require_attributes(task);
}

}  // namespace softcheck::proptests
