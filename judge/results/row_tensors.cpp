#include "judge/results/row_tensors.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <utility>

#include "judge/ops/rows/row_op.hpp"
#include "judge/results/given_tensor.hpp"
#include "judge/results/task_checks.hpp"
#include "numerics/formats/special_values.hpp"

namespace softcheck::proptests {
namespace {

std::string own_name(Op op, std::size_t k) { return std::string(to_string(op->inputs[k].role)); }

// Moves the items' dimension: (n, ...) to (..., n), and (n, ..., width) to (..., n, width).
GivenTensor items_behind_rows(GivenTensor tensor, std::size_t behind) {
  const auto rotate = [&](std::vector<std::int64_t>& of) {
    std::rotate(of.begin(), of.begin() + 1, of.end() - static_cast<std::ptrdiff_t>(behind));
  };
  rotate(tensor.shape);
  rotate(tensor.strides);
  return tensor;
}

GivenTensor logits_of(const TensorTask& task) {
  require_task(task);
  const std::string name = own_name(task.op, 0);
  GivenTensor logits = own_input(task, 0);
  const bool items_first = task.op->is_of_states();
  if (logits.shape.empty()) {
    throw std::invalid_argument(name + ": need shape " + (items_first ? "(n, ...)" : "(..., n)") + ", got ()");
  }
  const std::int64_t items = items_first ? logits.shape.front() : logits.shape.back();
  // The cascade's limit (numerics/filter/row_cascade.hpp).
  if (items > std::int64_t{1} << 30) {
    throw std::invalid_argument(name + ": need rows of at most 2^30 items, got shape " + shape_text(logits.shape));
  }
  return items_first ? items_behind_rows(std::move(logits), 0) : logits;
}

// The caller's shape of vectors (..., n, width).
Shape shape_of_vectors(const TensorTask& task, std::int64_t width) {
  Shape shape = own_input(task, 0).shape;
  shape.push_back(width);
  return shape;
}

Shape all_but_last(const Shape& shape) { return {shape.begin(), shape.end() - 1}; }

}  // namespace

RowTensors::RowTensors(const TensorTask& task)
    : task_(task),
      logits_(logits_of(task)),
      columns_(static_cast<std::size_t>(logits_.shape.back())),
      walk_(all_but_last(logits_.shape)) {
  for (std::size_t k = 1; k < task.op->inputs.size(); ++k) {
    if (input_of(task, task.op->inputs[k].role) != nullptr) {
      require_auxiliary(k);
    } else if (task.op->filters) {
      auxiliary_.emplace_back();  // of four optional inputs any may be missing
    }
  }
  if (!task.op->elements.empty()) width_ = static_cast<std::size_t>(task.attributes.k);
  masked_ = has_mask(task);
  if (!masked_) return;
  mask_ = *input_of(task, Role::mask);
  mask_.strides = broadcast_strides("mask", mask_.shape, mask_.strides, logits_.shape);
  mask_.shape = logits_.shape;
}

void RowTensors::require_auxiliary(std::size_t k) {
  GivenTensor tensor = own_input(task_, k);
  const std::string name = own_name(task_.op, k);
  const Extent extent = task_.op->inputs[k].extent;
  if (extent == Extent::classes) {
    require_weights(tensor, name);
    auxiliary_.push_back(std::move(tensor));
    return;
  }
  if (extent == Extent::call) {  // one number, () or (1,)
    if (!tensor.shape.empty()) require_shape(name, tensor.shape, Shape{1});
    auxiliary_.push_back(std::move(tensor));
    return;
  }
  const bool of_items = extent == Extent::items;
  if (extent == Extent::vectors) {
    // The last dimension is the width; a tensor without dimensions gets a shape that it cannot have.
    const std::int64_t width = tensor.shape.empty() ? 0 : tensor.shape.back();
    require_shape(name, tensor.shape, shape_of_vectors(task_, width));
    width_ = static_cast<std::size_t>(width);
    auxiliary_.push_back(task_.op->is_of_states() ? items_behind_rows(std::move(tensor), 1) : std::move(tensor));
    return;
  }
  require_shape(name, tensor.shape, of_items ? logits_.shape : all_but_last(logits_.shape));
  if (task_.op->inputs[k].role == Role::targets) require_targets(tensor, name);
  auxiliary_.push_back(tensor);
  if (task_.op->filters) return require_filter(k, name);
  if (!task_.op->inputs[k].is_index) return;
  for (std::size_t row = 0; row < rows(); ++row) {
    label_at(tensor, walk_, row, logits_.shape.back(), task_.attributes.ignore_index);
  }
}

// A number of each row has the range of the attribute that it replaces.
void RowTensors::require_filter(std::size_t k, const std::string& name) const {
  const Role role = task_.op->inputs[k].role;
  std::vector<double> number(1);
  for (std::size_t row = 0; row < rows(); ++row) {
    load_auxiliary(row, k, number);
    const double got = number[0];
    const bool fits = role == Role::temperature ? got >= 0x1p-1000 && got <= 0x1p1000
                                                : got >= 0 && (role == Role::k ? got <= INT32_MAX : got <= 1);
    if (fits) continue;
    const char* const needed = role == Role::temperature ? "temperatures in [2^-1000, 2^1000]"
                               : role == Role::k         ? "numbers of items, 0 for all, up to 2^31 - 1"
                                                         : "numbers in (0, 1], or 0 for none";
    throw std::invalid_argument(fmt::format("{}: need {}, got {} at {}", name, needed, got, shape_text(index(row))));
  }
}

void RowTensors::require_weights(const GivenTensor& tensor, const std::string& name) const {
  require_shape(name, tensor.shape, Shape{logits_.shape.back()});
  std::vector<double> weights(columns_);
  decode_elements(tensor, 0, tensor.strides[0], weights);
  const bool signed_too = name == to_string(Role::bias);
  for (std::size_t j = 0; j < columns_; ++j) {
    if ((signed_too || weights[j] >= 0) && std::isfinite(weights[j])) continue;
    throw std::invalid_argument(
        fmt::format("{}: need finite numbers{}, got {} at ({},)", name, signed_too ? "" : " >= 0", weights[j], j));
  }
}

void RowTensors::require_targets(const GivenTensor& tensor, const std::string& name) const {
  std::vector<double> targets(columns_);
  for (std::size_t row = 0; row < rows(); ++row) {
    decode_elements(tensor, walk_.offset(row, tensor.strides), tensor.strides.back(), targets);
    const auto wrong = std::ranges::find_if(targets, [](double q) { return q < 0 || std::isinf(q); });
    if (wrong == targets.end()) continue;
    throw std::invalid_argument(
        fmt::format("{}: need finite numbers >= 0, got {} in row {}", name, *wrong, shape_text(index(row))));
  }
}

Extent RowTensors::extent_of(std::size_t which) const {
  if (has_parts(task_.op)) return task_.op->extents[which];
  return task_.op->one_value_per_row ? Extent::rows : Extent::items;
}

std::size_t RowTensors::values_of(std::size_t which) const {
  const Extent extent = extent_of(which);
  return extent == Extent::rows ? 1 : extent == Extent::items ? columns_ : width_;
}

std::size_t RowTensors::values() const { return values_of_row(*task_.op.operator->(), columns_, width_); }

bool RowTensors::is_index(std::size_t i) const { return is_index_value(*task_.op.operator->(), i, columns_, width_); }

Shape RowTensors::output_shape(std::size_t which) const {
  if (has_one_value(task_.op)) return {};
  Shape shape = all_but_last(logits_.shape);
  if (extent_of(which) != Extent::rows) shape.push_back(static_cast<std::int64_t>(values_of(which)));
  return shape;
}

void RowTensors::load_auxiliary(std::size_t row, std::size_t k, std::vector<double>& values) const {
  const GivenTensor& tensor = auxiliary_[k - 1];
  const OpInput& input = task_.op->inputs[k];
  if (tensor.first == nullptr && tensor.strides.empty() && input.optional) return values.clear();
  const bool of_classes = input.extent == Extent::classes;
  const bool of_call = of_classes || input.extent == Extent::call;  // equal in every row
  const std::int64_t offset = of_call ? 0 : walk_.offset(row, tensor.strides);
  if (input.extent == Extent::vectors) {
    values.resize(columns_ * width_);
    const std::int64_t of_item = tensor.strides[tensor.strides.size() - 2];
    for (std::size_t i = 0; i < columns_; ++i) {
      decode_elements(tensor, offset + static_cast<std::int64_t>(i) * of_item, tensor.strides.back(),
                      std::span(values).subspan(i * width_, width_));
    }
    return;
  }
  const bool of_items = input.extent == Extent::items || of_classes;
  values.resize(of_items ? columns_ : 1);
  if (input.is_index) {
    values[0] = static_cast<double>(integer_at(tensor, offset));
  } else {
    decode_elements(tensor, offset, of_items ? tensor.strides.back() : 0, values);
  }
}

bool RowTensors::is_unread(std::size_t k, std::size_t i, std::span<const double> logits) const {
  return task_.op->inputs[k].extent == Extent::vectors && logits[i / width_] == -numerics::infinity;
}

RowKind RowTensors::load(std::size_t row, std::span<double> logits, std::vector<std::vector<double>>& auxiliary) const {
  decode_elements(logits_, walk_.offset(row, logits_.strides), logits_.strides.back(), logits);
  if (masked_) {
    hide_masked(mask_, walk_.offset(row, mask_.strides), mask_.strides.back(), -numerics::infinity, logits);
  }
  double highest = -numerics::infinity;
  bool has_nan = false, has_nan_items = false;
  for (const double logit : logits) {
    highest = logit > highest ? logit : highest;
    has_nan |= std::isnan(logit);
  }
  if (task_.op->inputs[0].nan_reach == NanReach::item) std::swap(has_nan, has_nan_items);
  const bool logarithms = task_.op->saved_logarithms;
  bool has_infinity = std::ranges::any_of(logits, [&](double x) { return std::isinf(x) && !(logarithms && x < 0); });
  bool unasked = highest == numerics::infinity && !task_.op->has_limit;
  auxiliary.resize(auxiliary_.size());
  for (std::size_t k = 0; k < auxiliary.size(); ++k) {
    load_auxiliary(row, k + 1, auxiliary[k]);
    const bool vectors = task_.op->inputs[k + 1].extent == Extent::vectors;
    for (std::size_t i = 0; i < auxiliary[k].size(); ++i) {
      const double value = auxiliary[k][i];
      if (is_unread(k + 1, i, logits)) continue;
      if (vectors) {
        // No definition says how a NaN or an infinity in a vector affects its other numbers.
        unasked |= !std::isfinite(value);
        continue;
      }
      has_nan |= std::isnan(value);
      has_infinity |= std::isinf(value) && !(task_.op->inputs[k + 1].role == Role::teacher && value < 0);
    }
  }
  if (columns_ == 0) return RowKind::nothing;
  const numerics::Contract unread;  // the inputs decide
  const RowInputs inputs{unread, logits, task_.theta, auxiliary, task_.attributes};
  if (task_.op.rows().ignores(inputs)) return RowKind::ignored;
  if (has_nan) return RowKind::nan;
  unasked |= task_.op.rows().due(inputs) == RowOp::Due::nothing;
  if (unasked || (!task_.op->takes_infinities && has_infinity)) return RowKind::unasked;
  if (has_nan_items) return RowKind::nan_items;
  if (!task_.op->takes_infinities) return RowKind::usual;
  if (highest == numerics::infinity) return RowKind::infinite;
  return highest == -numerics::infinity ? RowKind::nothing : RowKind::usual;
}

CallOfRows RowTensors::call(const numerics::Contract& contract) const {
  const auto each = [this, &contract](const std::function<void(const RowInputs&)>& visit) {
    std::vector<double> logits(columns_);
    std::vector<std::vector<double>> auxiliary;
    for (std::size_t row = 0; row < rows(); ++row) {
      load(row, logits, auxiliary);
      visit({contract, logits, task_.theta, auxiliary, task_.attributes});
    }
  };
  return {contract, task_.attributes, each};
}

void RowTensors::require_outputs(std::span<const GivenTensor> outputs) const {
  for (std::size_t which = 0; which < outputs.size(); ++which) {
    const Shape need = output_shape(which);
    Shape column = need;
    column.push_back(1);
    if (extent_of(which) == Extent::rows && outputs[which].shape == column) continue;
    require_shape(has_parts(task_.op) ? output_name(task_.op, which) : "output", outputs[which].shape, need);
  }
}

void RowTensors::load_outputs(std::span<const GivenTensor> outputs, std::size_t row, std::span<double> values) const {
  std::size_t at = 0;
  for (std::size_t which = 0; which < outputs.size(); ++which) {
    const GivenTensor& output = outputs[which];
    const std::span<double> own = values.subspan(at, values_of(which));
    at += own.size();
    const std::int64_t stride = extent_of(which) == Extent::rows ? 0 : output.strides.back();
    const std::int64_t offset = walk_.offset(row, output.strides);
    if (output.integer_bits == 0) {
      decode_elements(output, offset, stride, own);
      continue;
    }
    for (std::size_t i = 0; i < own.size(); ++i) {
      own[i] = static_cast<double>(integer_at(output, offset + static_cast<std::int64_t>(i) * stride));
    }
  }
}

}  // namespace softcheck::proptests
