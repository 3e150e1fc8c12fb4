#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "judge/ops/rows/row_op.hpp"
#include "judge/results/given_tensor.hpp"
#include "judge/results/tensor_judge.hpp"

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

/// The rows of a task of an op of rows, read where they lie.
class RowTensors {
 public:
  /// task     outlives this
  /// throws   std::invalid_argument naming the tensor, what is needed and what was got
  explicit RowTensors(const TensorTask& task);

  std::size_t rows() const { return walk_.rows(); }
  std::size_t columns() const { return columns_; }
  std::vector<std::int64_t> index(std::size_t row) const { return walk_.index(row); }
  /// Of output number which.
  Shape output_shape(std::size_t which = 0) const;
  /// How many values the op has for a row, of all its outputs or of one.
  std::size_t values() const;
  std::size_t values_of(std::size_t which) const;
  /// Are they an output's elements, one for each item or of a vector, and not one for the row?
  bool has_items() const { return !task_.op->one_value_per_row; }
  /// Is value i of them an index?
  bool is_index(std::size_t i) const;

  /// logits   (columns) of the first input, -inf where an item is masked
  /// beside   of the op's other inputs
  RowKind load(std::size_t row, std::span<double> logits, std::vector<std::vector<double>>& auxiliary) const;

  /// All of them, of an op that looks at whole calls; this and the contract outlive it.
  CallOfRows call(const numerics::Contract& contract) const;

  /// throws   std::invalid_argument unless each tensor has the shape of the op's output, or (..., 1) of a row scalar
  void require_outputs(std::span<const GivenTensor> outputs) const;
  /// values   (values()) of the row, those of the outputs one behind the other
  void load_outputs(std::span<const GivenTensor> outputs, std::size_t row, std::span<double> values) const;

 private:
  // Of the op's other inputs: their shapes, and labels that are no class.
  void require_auxiliary(std::size_t k);
  void require_weights(const GivenTensor& tensor, const std::string& name) const;
  void load_auxiliary(std::size_t row, std::size_t k, std::vector<double>& values) const;
  // Is number i of another input that of an item that is not there, which is not read?
  bool is_unread(std::size_t k, std::size_t i, std::span<const double> logits) const;
  Extent extent_of(std::size_t which) const;

  const TensorTask& task_;
  GivenTensor logits_;  // (..., n), whatever the order of the tensor's dimensions
  std::size_t columns_;
  RowWalk walk_;
  bool masked_ = false;
  GivenTensor mask_;                    // as broadcast to the logits
  std::vector<GivenTensor> auxiliary_;  // the op's other inputs: (...), (..., n) or (..., n, width)
  std::size_t width_ = 0;               // numbers of a vector
};

}  // namespace softcheck::proptests
