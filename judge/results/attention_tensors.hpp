#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "judge/ops/attention/attention_judge.hpp"
#include "judge/results/given_tensor.hpp"
#include "judge/results/tensor_judge.hpp"

/// Mask, bias, sinks and slopes of attention's scores, as tensors in memory.

namespace softcheck::proptests {

/// The kind of the visible values in one column.
enum class ColumnKind { usual, nan, infinite };

/// How a query is judged.
enum class QueryKind {
  usual,
  nothing,   // sees no key
  nan,       // it, or a key that it sees, holds a NaN
  infinite,  // the same with an infinity: the ABI promises nothing
  unasked,   // it holds a NaN or an infinity but sees no key: nothing is promised
};

/// Special values among numbers: 1 an infinity, 2 a NaN, 3 both.
using NumberKinds = std::uint8_t;
inline constexpr NumberKinds has_infinity = 1, has_nan = 2;
NumberKinds kinds_of(std::span<const double> numbers);

/// own    kinds in the query itself      met   kinds in all numbers that its results depend on
QueryKind query_kind(NumberKinds own, NumberKinds met, bool sees_a_key);

/// The queries of a task of attention. Decodes the keys and values of one head at a time.
class AttentionTensors {
 public:
  /// task     must outlive this object
  /// throws   std::invalid_argument with the tensor, what is needed and what was given
  explicit AttentionTensors(const TensorTask& task);

  /// Number of queries over all heads and batches.
  std::size_t rows() const { return walk_.rows(); }
  std::vector<std::int64_t> index(std::size_t row) const;
  /// A query's amount of work: the scores and values that it may read.
  std::size_t work() const { return keys_ * (dim_ + value_dim_) + value_dim_ + 1; }
  std::size_t value_size() const { return value_dim_; }
  std::size_t keys() const { return keys_; }
  /// which   0 output, 1 lse, 2 entropy
  Shape output_shape(std::size_t which) const;

  /// Makes this row the current one. Quickest in ascending order.
  ///
  /// throws   std::invalid_argument if a bias is not finite
  QueryKind load(std::size_t row);
  /// The current row; its keys and values may hold NaNs or infinities.
  const AttentionRow& row() const { return row_; }
  /// One per column; empty if all are usual.
  const std::vector<ColumnKind>& columns() const { return columns_; }
  /// Are all values of the current head finite, including those that no query sees?
  bool values_finite() const { return values_finite_; }
  /// The current row with its usual columns only; `left` receives their indices.
  AttentionRow usual_row(std::vector<std::size_t>& left);

  void require_outputs(std::span<const GivenTensor> outputs) const;
  /// Reads this row of out, or its lse or entropy.
  void load_output(const GivenTensor& output, std::size_t which, std::size_t row, std::span<double> values) const;

 private:
  void load_head(std::size_t batch, std::size_t head);
  void load_visible(std::size_t batch, std::size_t head, std::size_t query);
  void load_terms(std::size_t batch, std::size_t head, std::size_t query);
  std::int64_t place_of(std::size_t query) const;
  void find_columns();

  const TensorTask& task_;
  std::array<GivenTensor, 3> inputs_;             // q, k, v with four dimensions
  std::vector<GivenTensor> second_;               // q2 and k2 likewise, or none
  GivenTensor mask_;                              // (batch, heads, queries, keys)
  std::optional<GivenTensor> bias_;               // same shape as the mask
  std::optional<GivenTensor> kept_;               // the dropout, of the same shape
  std::vector<double> sinks_, slopes_, lambdas_;  // (heads) or empty
  RowWalk walk_;                                  // (batch, heads, queries)
  std::size_t dim_ = 0, keys_ = 0, value_dim_ = 0;
  std::array<std::int64_t, 4> loaded_{-1, -1, -1, -1};  // batch and head of the decoded keys, and of the decoded values
  std::vector<double> query_, head_keys_, head_values_, usual_values_, second_query_, second_keys_;
  std::vector<NumberKinds> key_kinds_;  // per key of the head
  bool values_finite_ = true;           // of the head
  AttentionRow row_;
  std::vector<ColumnKind> columns_;
};

// Indices of the dimensions of attention's tensors.
inline constexpr std::size_t of_batch = 0, of_heads = 1, of_length = 2, of_dim = 3;

/// The tensor with leading dimensions of size 1 added up to four: (batch, heads, length, dim).
///
/// throws   std::invalid_argument with the tensor's name
GivenTensor of_four(const GivenTensor& tensor, const std::string& name);

/// throws   std::invalid_argument with the tensor's name unless the dimension has this size; `what` says whose size it
/// is
void require_size(const std::string& name, const GivenTensor& tensor, std::size_t dimension, std::int64_t need,
                  const char* what);
/// throws   std::invalid_argument with the tensor's name unless its heads divide q's
void require_heads(const std::string& name, const GivenTensor& tensor, std::int64_t heads);

inline std::size_t size_of(const GivenTensor& tensor, std::size_t dimension) {
  return static_cast<std::size_t>(tensor.shape[dimension]);
}

/// Offset of a row of (batch, heads, length, dim), in elements.
inline std::int64_t offset_of_row(const GivenTensor& tensor, std::size_t batch, std::size_t head, std::size_t row) {
  return static_cast<std::int64_t>(batch) * tensor.strides[of_batch] +
         static_cast<std::int64_t>(head) * tensor.strides[of_heads] +
         static_cast<std::int64_t>(row) * tensor.strides[of_length];
}

/// The rows of one head, compact: (length, dim).
void decode_head(const GivenTensor& tensor, std::int64_t batch, std::int64_t head, std::span<double> values);

/// throws   std::invalid_argument with the tensor's name if a number is not finite
void require_finite(const std::string& name, std::span<const double> numbers);

/// The same numbers with this shape; repeated dimensions have stride 0.
GivenTensor broadcast_to(const GivenTensor& tensor, const std::string& name, const Shape& shape);

/// One number per head, for `count` heads from `first` on; empty without the tensor.
///
/// throws   std::invalid_argument with the tensor's name unless it is (heads) and these numbers are finite
std::vector<double> vector_of_heads(const GivenTensor* tensor, const std::string& name, std::int64_t heads,
                                    std::size_t first, std::size_t count);

}  // namespace softcheck::proptests
