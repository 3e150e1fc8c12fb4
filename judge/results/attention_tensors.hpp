#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "judge/ops/attention/attention_judge.hpp"
#include "judge/results/given_tensor.hpp"
#include "judge/results/tensor_judge.hpp"

namespace softcheck::proptests {

/// What stands in the visible values of one column.
enum class ColumnKind { usual, nan, infinite };

/// By what a query is judged.
enum class QueryKind {
  usual,
  nothing,   // sees no key
  nan,       // a NaN in it or in a key that it sees
  infinite,  // an infinity there: the ABI says nothing of it
  unasked,   // a NaN or an infinity in a query that sees no key
};

/// What stands among numbers: 1 an infinity, 2 a NaN, 3 both.
using NumberKinds = std::uint8_t;
inline constexpr NumberKinds has_infinity = 1, has_nan = 2;
NumberKinds kinds_of(std::span<const double> numbers);

/// own    kinds of the query's own numbers      met   of all numbers that decide its results, those of seen keys too
QueryKind query_kind(NumberKinds own, NumberKinds met, bool sees_a_key);

/// The queries of a task of attention. Keys and values of one head are decoded at a time.
class AttentionTensors {
 public:
  /// task     outlives this
  /// throws   std::invalid_argument naming the tensor, what is needed and what was got
  explicit AttentionTensors(const TensorTask& task);

  /// Of queries of all heads and batches.
  std::size_t rows() const { return walk_.rows(); }
  std::vector<std::int64_t> index(std::size_t row) const;
  /// Scores and values that a query may meet: its share of the work.
  std::size_t work() const { return keys_ * (dim_ + value_dim_) + value_dim_ + 1; }
  std::size_t value_size() const { return value_dim_; }
  std::size_t keys() const { return keys_; }
  /// Of output 0, lse 1 or entropy 2.
  Shape output_shape(std::size_t which) const;

  /// Makes the row the current one: rows in order are quickest.
  ///
  /// throws   std::invalid_argument where a bias is not finite
  QueryKind load(std::size_t row);
  /// The current row; a NaN or an infinity may stand among its keys and values.
  const AttentionRow& row() const { return row_; }
  /// One for each column; empty where all of them are usual.
  const std::vector<ColumnKind>& columns() const { return columns_; }
  /// Are all values of the current head numbers, whether a query sees them or not?
  bool values_finite() const { return values_finite_; }
  /// The current row without the columns that are not usual, and those that are left.
  AttentionRow usual_row(std::vector<std::size_t>& left);

  void require_outputs(std::span<const GivenTensor> outputs) const;
  /// Row number row of out, or its lse or entropy.
  void load_output(const GivenTensor& output, std::size_t which, std::size_t row, std::span<double> values) const;

 private:
  void load_head(std::size_t batch, std::size_t head);
  void load_visible(std::size_t batch, std::size_t head, std::size_t query);
  void load_terms(std::size_t batch, std::size_t head, std::size_t query);
  std::int64_t place_of(std::size_t query) const;
  void find_columns();

  const TensorTask& task_;
  std::array<GivenTensor, 3> inputs_;   // q, k, v of four dimensions
  GivenTensor mask_;                    // (batch, heads, queries, keys)
  std::optional<GivenTensor> bias_;     // the same
  std::vector<double> sinks_, slopes_;  // (heads) or none
  RowWalk walk_;                        // (batch, heads, queries)
  std::size_t dim_ = 0, keys_ = 0, value_dim_ = 0;
  std::array<std::int64_t, 4> loaded_{-1, -1, -1, -1};  // batch and head of the keys, and of the values
  std::vector<double> query_, head_keys_, head_values_, usual_values_;
  std::vector<NumberKinds> key_kinds_;  // of each key of the head
  bool values_finite_ = true;           // of the head
  AttentionRow row_;
  std::vector<ColumnKind> columns_;
};

}  // namespace softcheck::proptests
