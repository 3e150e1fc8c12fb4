#include "proptests/tensors/row_tensors.hpp"

#include <cmath>
#include <stdexcept>

#include "numerics/special_values.hpp"
#include "proptests/tensors/task_checks.hpp"
#include "proptests/tensors/tensor_elements.hpp"

namespace softcheck::proptests {
namespace {

const HeldTensor& logits_of(const TensorTask& task) {
  require_task(task);
  const HeldTensor& logits = task.inputs[0];
  if (logits.shape.empty()) throw std::invalid_argument("logits: need shape (..., n), got ()");
  // The cascade's limit (numerics/row_cascade.hpp).
  if (logits.shape.back() > std::int64_t{1} << 30) {
    throw std::invalid_argument("logits: need rows of at most 2^30 logits, got shape " + shape_text(logits.shape));
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
  if (!has_mask(task)) return;
  mask_ = task.inputs[1];
  mask_.strides = broadcast_strides("mask", mask_.shape, mask_.strides, logits_.shape);
  mask_.shape = logits_.shape;
}

Shape RowTensors::output_shape() const {
  return task_.op->one_value_per_row ? all_but_last(logits_.shape) : logits_.shape;
}

RowKind RowTensors::load(std::size_t row, std::span<double> logits) const {
  decode_elements(logits_, walk_.offset(row, logits_.strides), logits_.strides.back(), logits);
  if (has_mask(task_)) {
    hide_masked(mask_, walk_.offset(row, mask_.strides), mask_.strides.back(), -numerics::infinity, logits);
  }
  double highest = -numerics::infinity;
  bool has_nan = false;
  for (const double logit : logits) {
    highest = logit > highest ? logit : highest;
    has_nan |= std::isnan(logit);
  }
  if (has_nan) return RowKind::nan;
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
