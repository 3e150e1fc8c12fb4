#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "judge/call/tensor_call.hpp"
#include "proptests/generators/attention/attention.hpp"

namespace softcheck::proptests {

/// Where a case's numbers lie in a call whose sequences are packed, in pages, or both (kernels/abi/softcheck_kernel.h).
/// A row is a tensor's innermost dimension; rows are counted row-major.
class SequenceLayout {
 public:
  /// attention   a case with packed or paged sequences
  explicit SequenceLayout(const AttentionCase& attention);

  /// The call of attention with its roles and attributes; all tensors compact.
  TensorCall call(numerics::Format scalars) const;
  /// The outputs of that call in the layout of the dense batch. Queries beyond a sequence's end are zeros.
  std::vector<std::vector<double>> dense(const std::vector<std::vector<double>>& outputs) const;

  /// Places of compact tensors: a vector per query, a vector per key, a number per query.
  TensorPlace place_of_queries(std::size_t size) const;
  TensorPlace place_of_keys(std::size_t size) const;
  TensorPlace place_of_scalars(numerics::Format format) const;
  /// Tensors with the numbers of the dense batch, (batch, heads, queries, size) and (batch, kv_heads, keys, size).
  InputTensor of_queries(const std::vector<double>& numbers, std::size_t size) const;
  InputTensor of_keys(const std::vector<double>& numbers, std::size_t size) const;
  /// numbers   (batch, heads, queries), of a call with packed queries
  InputTensor of_scalars(const std::vector<double>& numbers, numerics::Format format) const;
  /// Adds the inputs that hold the sequences' starts, their roles, and the page size.
  void add_sequences(TensorCall& call) const;
  /// Vectors of packed queries or keys in the layout of the dense batch; zeros beyond a sequence's end.
  std::vector<double> dense_queries(const std::vector<double>& numbers, std::size_t size) const;
  std::vector<double> dense_keys(const std::vector<double>& numbers, std::size_t size) const;
  /// Index of a case's element in the call's tensor 0, 1 or 2 (q, k, v), or 5 (the gradient by out). The call must hold
  /// the element.
  std::size_t element_of(std::size_t tensor, std::size_t element) const;

 private:
  // For each row of the call its row of the case; nothing: no sequence has it.
  using Rows = std::vector<std::optional<std::size_t>>;

  void place_queries();
  void place_keys();
  void place_pages();
  std::vector<double> gathered(const std::vector<double>& numbers, const Rows& rows, std::size_t size) const;
  static std::vector<double> scattered(const std::vector<double>& numbers, const Rows& rows, std::size_t size,
                                       std::size_t dense_rows);
  // Vectors are (total, heads, size), scalars (heads, total).
  std::size_t scalar_of(std::size_t row) const {
    const std::size_t heads = case_.shape.heads();
    return row % heads * total_queries() + row / heads;
  }
  std::size_t total_queries() const { return static_cast<std::size_t>(query_starts_.back()); }
  std::size_t total_keys() const { return static_cast<std::size_t>(key_starts_.back()); }

  const AttentionCase& case_;
  Rows queries_, keys_;
  std::vector<double> query_starts_{0}, key_starts_{0};  // (batch + 1)
  std::vector<double> table_;                            // (batch, columns_)
  std::size_t pages_ = 0, columns_ = 0;
};

}  // namespace softcheck::proptests
