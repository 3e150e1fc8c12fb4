#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "kernels/cpu/attention_views.hpp"

// Sequences of different lengths in one call.
namespace softcheck::kernels {

/// Where sequences end that lie one behind the other: numbers of int32 or int64, (sequences + 1) from 0 on.
struct CumulativeLengths {
  const std::byte* data;
  bool wide;
  std::int64_t count, stride;  // in numbers
};

/// Sequence i has the queries [query_ends[i], query_ends[i + 1]) of all, and keys alike. Nobody has read the lengths:
/// they may lie on a device.
template <class Views>
struct PackedCall {
  Views all;  // of one batch, as long as the tensors are; no mask
  CumulativeLengths query_ends, key_ends;

  std::int64_t sequences() const { return query_ends.count - 1; }
};

/// A packed call as a call for each sequence.
template <class Views>
struct SequenceCalls {
  Views all;
  std::vector<Views> each;
};

/// q, k, v and the cumulative lengths of queries and of keys to out, lse and entropy.
std::optional<PackedCall<AttentionViews>> packed_call(const softcheck_call* call);
/// q, k, v, dL/dout and the lengths to dL/dq, dL/dk, dL/dv.
std::optional<PackedCall<AttentionGradientViews>> packed_gradient_call(const softcheck_call* call);

/// Reads the lengths; nothing where there is no call, or they do not start at 0, fall, or go beyond the tensors.
std::optional<SequenceCalls<AttentionViews>> sequences_of(const std::optional<PackedCall<AttentionViews>>& call);
std::optional<SequenceCalls<AttentionGradientViews>> sequences_of(
    const std::optional<PackedCall<AttentionGradientViews>>& call);

}  // namespace softcheck::kernels
