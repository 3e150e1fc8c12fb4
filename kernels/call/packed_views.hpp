#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "kernels/call/attention_views.hpp"

// Sequences of different lengths in one call.
namespace softcheck::kernels::call {

/// The begins and ends of sequences one after the other: (sequences + 1) numbers of int32 or int64, from 0 on.
struct CumulativeLengths {
  const std::byte* data;
  bool wide;
  std::int64_t count, stride;  // in numbers
};

/// Sequence i has the queries [query_offsets[i], query_offsets[i + 1]) of all, and keys alike. The lengths
/// are not read yet, as they may lie on a device: lengths_fit() reads them.
template <class Views>
struct PackedCall {
  Views all;  // of one batch, as long as the tensors are; no mask
  CumulativeLengths query_offsets, key_offsets;

  std::int64_t sequences() const { return query_offsets.count - 1; }
};

/// q, k, v and the cumulative lengths of queries and of keys to out, lse and entropy: by version 1 of a call, or by
/// version 2 with op, the roles cu_q and cu_k and no attribute.
std::optional<PackedCall<AttentionViews>> packed_call(const softcheck_call* call,
                                                      softcheck_op op = SOFTCHECK_OP_ATTENTION);
/// q, k, v, dL/dout and the lengths to dL/dq, dL/dk, dL/dv.
std::optional<PackedCall<AttentionGradientViews>> packed_gradient_call(const softcheck_call* call);
/// q, k and the lengths to m, S - 1, T, U.
std::optional<PackedCall<AttentionStatisticsViews>> packed_statistics_call(const softcheck_call* call);

/// Whether the lengths start at 0, never fall and stay within the tensors: reads them.
bool lengths_fit(const CumulativeLengths& of_queries, const CumulativeLengths& of_keys, const AttentionViews& all);
template <class Views>
bool lengths_fit(const PackedCall<Views>& call) {
  return lengths_fit(call.query_offsets, call.key_offsets, forward_of(call.all));
}

/// Sequence `index` as a separate call. Requires lengths_fit().
AttentionViews sequence_of(const PackedCall<AttentionViews>& call, std::int64_t index);
AttentionGradientViews sequence_of(const PackedCall<AttentionGradientViews>& call, std::int64_t index);
AttentionStatisticsViews sequence_of(const PackedCall<AttentionStatisticsViews>& call, std::int64_t index);

/// A call, or those that a packed one is.
template <class Views>
class Calls {
 public:
  explicit Calls(const Views& one) : largest_(one) {}
  explicit Calls(const PackedCall<Views>& packed) : largest_(packed.all), packed_(packed) {}

  std::int64_t count() const { return packed_ ? packed_->sequences() : 1; }
  Views operator[](std::int64_t index) const { return packed_ ? sequence_of(*packed_, index) : largest_; }
  /// The call with the most queries and keys.
  const Views& largest() const { return largest_; }

 private:
  Views largest_;
  std::optional<PackedCall<Views>> packed_;
};

}  // namespace softcheck::kernels::call
