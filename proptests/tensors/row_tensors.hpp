#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "proptests/tensors/tensor_judge.hpp"
#include "proptests/tensors/tensor_shape.hpp"

namespace softcheck::proptests {

/// By what a row of logits is judged.
enum class RowKind {
  usual,      // finite logits and masked items
  nothing,    // no visible item
  nan,        // a visible NaN, which makes every value NaN
  nan_items,  // visible NaNs, each of which makes its own item's value NaN
  infinite,   // a visible +inf, and no NaN
  unasked,    // an infinity in a row of an op that promises nothing of one
  ignored,    // its label is ignore_index, which makes every value 0
};

/// The rows of logits of a task of the softmax family, read where they lie.
class RowTensors {
 public:
  /// task     outlives this
  /// throws   std::invalid_argument naming the tensor, what is needed and what was got
  explicit RowTensors(const TensorTask& task);

  std::size_t rows() const { return walk_.rows(); }
  std::size_t columns() const { return columns_; }
  std::vector<std::int64_t> index(std::size_t row) const { return walk_.index(row); }
  /// Of the op's output.
  Shape output_shape() const;
  /// How many values the op has for a row.
  std::size_t values() const { return task_.op->one_value_per_row ? 1 : columns_; }

  /// logits   (columns) of the first input, -inf where an item is masked
  /// beside   of the op's other inputs
  RowKind load(std::size_t row, std::span<double> logits, std::vector<std::vector<double>>& beside) const;

  /// throws   std::invalid_argument unless the tensor has the shape of the op's output, or (..., 1) of a row scalar
  void require_output(const HeldTensor& output) const;
  /// values   (values()) of the row
  void load_output(const HeldTensor& output, std::size_t row, std::span<double> values) const;

 private:
  // Of the op's other inputs: their shapes, and labels that are no class.
  void require_beside(std::size_t k) const;
  void require_weights(std::size_t k) const;
  void load_beside(std::size_t row, std::size_t k, std::vector<double>& values) const;

  const TensorTask& task_;
  const HeldTensor& logits_;
  std::size_t columns_;
  RowWalk walk_;
  HeldTensor mask_;  // as broadcast to the logits
};

}  // namespace softcheck::proptests
