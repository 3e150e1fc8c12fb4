#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "judge/ops/rows/row_op.hpp"
#include "judge/results/given_tensor.hpp"
#include "judge/results/tensor_judge.hpp"

namespace softcheck::proptests {

/// How a row of logits is judged.
enum class RowKind {
  usual,      // finite logits and masked items
  nothing,    // no visible items
  nan,        // a visible NaN: every value must be NaN
  nan_items,  // visible NaNs: only their own items' values must be NaN
  infinite,   // a visible +inf, no NaN
  unasked,    // an infinity, for which the op promises nothing
  ignored,    // the label is ignore_index: every value must be 0
};

/// The rows of a row op's task, read in place.
class RowTensors {
 public:
  /// task     must outlive this object
  /// throws   std::invalid_argument with the tensor, what is needed and what was given
  explicit RowTensors(const TensorTask& task);

  std::size_t rows() const { return walk_.rows(); }
  std::size_t columns() const { return columns_; }
  std::vector<std::int64_t> index(std::size_t row) const { return walk_.index(row); }
  /// Shape of output `which`.
  Shape output_shape(std::size_t which = 0) const;
  /// Number of values per row, of all outputs or of one.
  std::size_t values() const;
  std::size_t values_of(std::size_t which) const;
  /// Are a row's values elements, one per item or number of a vector, and not one scalar?
  bool has_items() const { return !task_.op->one_value_per_row; }
  /// Is value i an index?
  bool is_index(std::size_t i) const;

  /// logits      (columns) of the first input, -inf for masked items
  /// auxiliary   the op's other inputs
  RowKind load(std::size_t row, std::span<double> logits, std::vector<std::vector<double>>& auxiliary) const;

  /// All rows, for ops of whole calls; this object and the contract must outlive it.
  CallOfRows call(const numerics::Contract& contract) const;

  /// throws   std::invalid_argument unless each tensor has the op's output shape, or (..., 1) for a row scalar
  void require_outputs(std::span<const GivenTensor> outputs) const;
  /// values   (values()) of the row, one output after the other
  void load_outputs(std::span<const GivenTensor> outputs, std::size_t row, std::span<double> values) const;

 private:
  // Checks input k: its shape, and that labels are classes.
  void require_auxiliary(std::size_t k);
  void require_filter(std::size_t k, const std::string& name) const;
  void require_weights(const GivenTensor& tensor, const std::string& name) const;
  void require_targets(const GivenTensor& tensor, const std::string& name) const;
  void load_auxiliary(std::size_t row, std::size_t k, std::vector<double>& values) const;
  // Does number i of input k belong to a masked item, so that it is not read?
  bool is_unread(std::size_t k, std::size_t i, std::span<const double> logits) const;
  Extent extent_of(std::size_t which) const;

  const TensorTask& task_;
  GivenTensor logits_;  // (..., n), whatever the order of the caller's dimensions
  std::size_t columns_;
  RowWalk walk_;
  bool masked_ = false;
  GivenTensor mask_;                    // broadcast to the logits
  std::vector<GivenTensor> auxiliary_;  // the other inputs: (...), (..., n) or (..., n, width)
  std::size_t width_ = 0;               // numbers per vector
};

}  // namespace softcheck::proptests
