#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "proptests/generators/attention.hpp"
#include "proptests/judge/tensor_call.hpp"

namespace softcheck::proptests {

/// Where the numbers of a case stand in a call whose sequences are packed, lie in pages, or both
/// (kernels/abi/softcheck_kernel.h). A row is a tensor's innermost dimension; rows are counted row-major.
class SequenceLayout {
 public:
  /// The case's sequences are not off.
  explicit SequenceLayout(const AttentionCase& attention);

  /// The roles and values of the call, its tensors compact.
  TensorCall call(numerics::Format scalars) const;
  /// Outputs of the call as those of the dense batch. A query that its sequence does not have has zeros.
  std::vector<std::vector<double>> dense(const std::vector<std::vector<double>>& outputs) const;
  /// Which element of the call's tensor 0, 1 or 2 (q, k or v) holds an element of the case's: one that is sent.
  std::size_t element_of(std::size_t tensor, std::size_t element) const;

 private:
  using Rows =
      std::vector<std::optional<std::size_t>>;  // of the case, for each row of the call; nothing: of no sequence

  void place_queries();
  void place_keys();
  void place_pages();
  std::vector<double> gathered(const std::vector<double>& numbers, const Rows& rows, std::size_t size) const;
  std::size_t total_queries() const { return static_cast<std::size_t>(query_starts_.back()); }
  std::size_t total_keys() const { return static_cast<std::size_t>(key_starts_.back()); }

  const AttentionCase& case_;
  Rows queries_, keys_;
  std::vector<double> query_starts_{0}, key_starts_{0};  // (batch + 1)
  std::vector<double> table_;                            // (batch, columns_)
  std::size_t pages_ = 0, columns_ = 0;
};

}  // namespace softcheck::proptests
