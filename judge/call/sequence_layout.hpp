#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "judge/call/tensor_call.hpp"
#include "proptests/generators/attention/attention.hpp"

namespace softcheck::proptests {

/// Where the numbers of a case stand in a call whose sequences are packed, lie in pages, or both
/// (kernels/abi/softcheck_kernel.h). A row is a tensor's innermost dimension; rows are counted row-major.
class SequenceLayout {
 public:
  /// The case's sequences are not off.
  explicit SequenceLayout(const AttentionCase& attention);

  /// The roles and values of attention's call, its tensors compact.
  TensorCall call(numerics::Format scalars) const;
  /// Outputs of that call as those of the dense batch. A query that its sequence does not have has zeros.
  std::vector<std::vector<double>> dense(const std::vector<std::vector<double>>& outputs) const;

  /// Compact tensors of the call: vectors of queries, vectors of keys, numbers of queries.
  TensorPlace place_of_queries(std::size_t size) const;
  TensorPlace place_of_keys(std::size_t size) const;
  TensorPlace place_of_scalars(numerics::Format format) const;
  /// With the numbers of the dense batch, (batch, heads, queries, size) and (batch, kv_heads, keys, size).
  InputTensor of_queries(const std::vector<double>& numbers, std::size_t size) const;
  InputTensor of_keys(const std::vector<double>& numbers, std::size_t size) const;
  /// (batch, heads, queries), of a call whose queries are packed.
  InputTensor of_scalars(const std::vector<double>& numbers, numerics::Format format) const;
  /// The inputs that say where sequences begin, their roles, and the size of a page.
  void add_sequences(TensorCall& call) const;
  /// Vectors of packed queries and of packed keys as those of the dense batch; zeros where it has others.
  std::vector<double> dense_queries(const std::vector<double>& numbers, std::size_t size) const;
  std::vector<double> dense_keys(const std::vector<double>& numbers, std::size_t size) const;
  /// Which element of the call's tensor 0, 1 or 2 (q, k or v), or of a gradient's 5 (that by out), holds an element of
  /// the case's: one that is sent.
  std::size_t element_of(std::size_t tensor, std::size_t element) const;

 private:
  using Rows =
      std::vector<std::optional<std::size_t>>;  // of the case, for each row of the call; nothing: of no sequence

  void place_queries();
  void place_keys();
  void place_pages();
  std::vector<double> gathered(const std::vector<double>& numbers, const Rows& rows, std::size_t size) const;
  static std::vector<double> scattered(const std::vector<double>& numbers, const Rows& rows, std::size_t size,
                                       std::size_t dense_rows);
  // Vectors are (total, heads, size), numbers (heads, total).
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
