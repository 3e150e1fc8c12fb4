#include "proptests/tensors/row_tensors.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <utility>

#include "numerics/special_values.hpp"
#include "proptests/judge/ops/row_op.hpp"
#include "proptests/tensors/task_checks.hpp"
#include "proptests/tensors/tensor_elements.hpp"

namespace softcheck::proptests {
namespace {

const HeldTensor& logits_of(const TensorTask& task) {
  require_task(task);
  const HeldTensor& logits = task.inputs[0];
  if (logits.shape.empty()) throw std::invalid_argument(input_name(task.op, 0) + ": need shape (..., n), got ()");
  // The cascade's limit (numerics/row_cascade.hpp).
  if (logits.shape.back() > std::int64_t{1} << 30) {
    throw std::invalid_argument(input_name(task.op, 0) + ": need rows of at most 2^30 items, got shape " +
                                shape_text(logits.shape));
  }
  return logits;
}

Shape all_but_last(const Shape& shape) { return {shape.begin(), shape.end() - 1}; }

}  // namespace

RowTensors::RowTensors(const TensorTask& task)
    : task_(task),
      logits_(logits_of(task)),
      columns_(static_cast<std::size_t>(logits_.shape.back())),
      walk_(all_but_last(logits_.shape)) {
  for (std::size_t k = 1; k < std::min(task.op->inputs.size(), task.inputs.size()); ++k) require_beside(k);
  if (!has_mask(task)) return;
  mask_ = task.inputs[task.op->inputs.size()];
  mask_.strides = broadcast_strides("mask", mask_.shape, mask_.strides, logits_.shape);
  mask_.shape = logits_.shape;
}

void RowTensors::require_beside(std::size_t k) const {
  const HeldTensor& tensor = task_.inputs[k];
  const Extent extent = task_.op->inputs[k].extent;
  if (extent == Extent::classes) return require_weights(k);
  const bool of_items = extent == Extent::items;
  require_shape(input_name(task_.op, k), tensor.shape, of_items ? logits_.shape : all_but_last(logits_.shape));
  if (!task_.op->inputs[k].is_index) return;
  const std::int64_t classes = logits_.shape.back(), ignored = task_.attributes.ignore_index;
  for (std::size_t row = 0; row < rows(); ++row) {
    const std::int64_t label = integer_at(tensor, walk_.offset(row, tensor.strides));
    if ((label >= 0 && label < classes) || label == ignored) continue;
    throw std::invalid_argument(input_name(task_.op, k) + ": need one of " + std::to_string(classes) +
                                " classes, or ignore_index " + std::to_string(ignored) + ", got " +
                                std::to_string(label) + " at " + shape_text(index(row)));
  }
}

void RowTensors::require_weights(std::size_t k) const {
  const HeldTensor& tensor = task_.inputs[k];
  require_shape(input_name(task_.op, k), tensor.shape, Shape{logits_.shape.back()});
  std::vector<double> weights(columns_);
  decode_elements(tensor, 0, tensor.strides[0], weights);
  for (std::size_t j = 0; j < columns_; ++j) {
    if (weights[j] >= 0 && std::isfinite(weights[j])) continue;
    throw std::invalid_argument(input_name(task_.op, k) + ": need finite numbers >= 0, got " +
                                std::to_string(weights[j]) + " at (" + std::to_string(j) + ",)");
  }
}

Shape RowTensors::output_shape() const {
  return task_.op->one_value_per_row ? all_but_last(logits_.shape) : logits_.shape;
}

void RowTensors::load_beside(std::size_t row, std::size_t k, std::vector<double>& values) const {
  const HeldTensor& tensor = task_.inputs[k];
  const OpInput& input = task_.op->inputs[k];
  const bool of_classes = input.extent == Extent::classes, of_items = input.extent == Extent::items || of_classes;
  values.resize(of_items ? columns_ : 1);
  const std::int64_t offset = of_classes ? 0 : walk_.offset(row, tensor.strides);
  if (input.is_index) {
    values[0] = static_cast<double>(integer_at(tensor, offset));
  } else {
    decode_elements(tensor, offset, of_items ? tensor.strides.back() : 0, values);
  }
}

RowKind RowTensors::load(std::size_t row, std::span<double> logits, std::vector<std::vector<double>>& beside) const {
  decode_elements(logits_, walk_.offset(row, logits_.strides), logits_.strides.back(), logits);
  if (has_mask(task_)) {
    hide_masked(mask_, walk_.offset(row, mask_.strides), mask_.strides.back(), -numerics::infinity, logits);
  }
  double highest = -numerics::infinity;
  bool has_nan = false, has_nan_items = false;
  for (const double logit : logits) {
    highest = logit > highest ? logit : highest;
    has_nan |= std::isnan(logit);
  }
  if (task_.op->inputs[0].nan_reach == NanReach::item) std::swap(has_nan, has_nan_items);
  bool has_infinity = std::ranges::any_of(logits, [](double logit) { return std::isinf(logit); });
  beside.resize(std::min(task_.op->inputs.size(), task_.inputs.size()) - 1);  // without an optional one
  for (std::size_t k = 0; k < beside.size(); ++k) {
    load_beside(row, k + 1, beside[k]);
    for (const double value : beside[k]) {
      has_nan |= std::isnan(value);
      has_infinity |= std::isinf(value);
    }
  }
  if (columns_ == 0) return RowKind::nothing;
  const numerics::Contract unread;  // the inputs tell
  if (task_.op.rows().ignores({unread, logits, task_.theta, beside, task_.attributes})) return RowKind::ignored;
  if (has_nan) return RowKind::nan;
  if (!task_.op->takes_infinities && has_infinity) return RowKind::unasked;
  if (has_nan_items) return RowKind::nan_items;
  if (!task_.op->takes_infinities) return RowKind::usual;
  if (highest == numerics::infinity) return RowKind::infinite;
  return highest == -numerics::infinity ? RowKind::nothing : RowKind::usual;
}

void RowTensors::require_output(const HeldTensor& output) const {
  const Shape need = output_shape();
  Shape column = need;
  column.push_back(1);
  if (task_.op->one_value_per_row && output.shape == column) return;
  require_shape("output", output.shape, need);
}

void RowTensors::load_output(const HeldTensor& output, std::size_t row, std::span<double> values) const {
  const std::int64_t stride = task_.op->one_value_per_row ? 0 : output.strides.back();
  decode_elements(output, walk_.offset(row, output.strides), stride, values);
}

}  // namespace softcheck::proptests
