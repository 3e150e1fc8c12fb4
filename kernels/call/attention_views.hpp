#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "kernels/abi/softcheck_kernel.h"
#include "kernels/call/elements.hpp"

namespace softcheck::kernels::call {

/// A strided view of rank 4 (of rank 3, its last extent is 1); strides in bytes.
struct View4 {
  std::byte* data = nullptr;
  Storage storage = Storage::f32;
  std::array<std::int64_t, 4> shape{0, 0, 0, 0};
  std::array<std::int64_t, 4> strides{0, 0, 0, 0};

  std::byte* at(std::int64_t i, std::int64_t j, std::int64_t k, std::int64_t l = 0) const {
    return data + i * strides[0] + j * strides[1] + k * strides[2] + l * strides[3];
  }
};

/// A tensor of this rank on the CPU as a view; nothing if a kernel is to refuse it.
std::optional<View4> view4_of(const DLTensor* tensor, int rank);

/// The attributes of a call of version 2. Query i has the position of key i + keys - queries, or of key i.
struct AttentionAttributes {
  static constexpr std::int64_t all = std::int64_t{1} << 62;

  std::int64_t left = all, right = all;  // keys on each side of its position that a query sees
  bool top_left = false;
  double softcap = 0;                 // softcap tanh(score / softcap); 0: none
  std::optional<View> sinks, slopes;  // (heads)
  std::optional<View4> bias;          // (batch, heads or 1, queries, keys)

  /// Whether scores are no more than scale q k, up to some key.
  bool are_plain() const { return left == all && softcap == 0 && !slopes && !bias; }
};

/// A call of attention: q (batch, heads, queries, dim), k and v (batch, key heads, keys, dim), out like q.
struct AttentionViews {
  View4 q, k, v;
  std::optional<View4> mask;  // (batch, heads or 1, queries, keys)
  View4 out;
  std::optional<View4> lse, entropy, maximum;  // (batch, heads, queries)
  double scale = 1;
  bool causal = false;
  AttentionAttributes attributes;

  std::int64_t batch() const { return q.shape[0]; }
  std::int64_t heads() const { return q.shape[1]; }
  std::int64_t key_heads() const { return k.shape[1]; }
  std::int64_t queries() const { return q.shape[2]; }
  std::int64_t keys() const { return k.shape[2]; }
  std::size_t dim() const { return static_cast<std::size_t>(q.shape[3]); }
  std::size_t value_dim() const { return static_cast<std::size_t>(v.shape[3]); }
  /// The position of query 0.
  std::int64_t diagonal() const { return attributes.top_left ? 0 : keys() - queries(); }
  /// Query heads that share a key head.
  std::int64_t group() const { return key_heads() == 0 ? 0 : heads() / key_heads(); }
};

/// A call of attention's gradient; the call may have only the first results of this order.
struct AttentionGradientViews {
  AttentionViews forward;  // out: the gradient of a loss with respect to it
  View4 dq;
  std::optional<View4> dk, dv;
  std::optional<View4> by_lse = {};  // (batch, heads, queries): the gradient with respect to the log-sum-exps
  // The results of the forward pass, in the ABI's formats; neither or both.
  std::optional<View4> saved_out = {};  // like forward.out
  std::optional<View4> saved_lse = {};  // (batch, heads, queries)
};

/// A call of attention's statistics: m, S - 1, T = sum w D and U = sum w D^2 of each query's scores; the call may have
/// only the first results of this order.
struct AttentionStatisticsViews {
  AttentionViews forward;                          // v and out: like k and q, of no columns
  std::array<std::optional<View4>, 4> statistics;  // (batch, heads, queries)
};

/// The queries and keys of any call.
inline const AttentionViews& forward_of(const AttentionViews& views) { return views; }
inline const AttentionViews& forward_of(const AttentionGradientViews& views) { return views.forward; }
inline const AttentionViews& forward_of(const AttentionStatisticsViews& views) { return views.forward; }

/// The layout of a call's tensors: by batch, or packed, with the sequences one after the other: q (all queries, heads,
/// dim), k and v (all keys, key heads, dim), numbers per query (heads, all queries), like one batch, and two more
/// inputs at the end.
enum class Layout { batched, packed };

/// The tensors of a call as views; nothing if the call is to be refused.
std::optional<AttentionViews> attention_views(const softcheck_call* call, Layout layout = Layout::batched);
/// The same, also for version 2 with attributes.
std::optional<AttentionViews> attributed_attention_views(const softcheck_call* call);
/// q, k, v, dL/dout[, mask] to dL/dq, dL/dk, dL/dv; or the judge's op by version 2, with out and lse. A log-sum-exp in
/// 16 bits is left out: weights from it would not keep the contract.
std::optional<AttentionGradientViews> attention_gradient_views(const softcheck_call* call,
                                                               Layout layout = Layout::batched);
/// q, k[, mask] to m, S - 1, T, U.
std::optional<AttentionStatisticsViews> attention_statistics_views(const softcheck_call* call,
                                                                   Layout layout = Layout::batched);

}  // namespace softcheck::kernels::call
