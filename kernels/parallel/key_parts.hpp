#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "kernels/call/attention_views.hpp"
#include "kernels/parallel/key_tree.hpp"
#include "kernels/parallel/machine.hpp"

namespace softcheck::kernels::parallel {

/// Consecutive keys of a rank as a separate call, and the nodes of the tree that they form.
///
/// Views   AttentionViews or AttentionGradientViews: k, v, mask (and dk, dv) of only these keys, all else that of the
///         whole call. Causality is a window, because the later keys are missing (see part_of)
template <class Views>
struct KeyPart {
  Views views;
  KeyRange keys;  // in the whole call
  std::vector<Node> nodes;
};

/// keys of a tensor like k; of a mask, dimension is 3.
inline void cut_keys(std::optional<View4>& view, std::size_t dimension, const KeyRange& keys) {
  if (!view) return;
  view->shape[dimension] = keys.end - keys.begin;
  // Without keys nothing is read, and the tensor may have no memory.
  if (view->shape[dimension] != 0) view->data += keys.begin * view->strides[dimension];
}
inline void cut_keys(View4& view, const KeyRange& keys) {
  std::optional<View4> cut = view;
  cut_keys(cut, 2, keys);
  view = *cut;
}

/// Sets which keys of a part the queries see, if `behind` keys of the call come after the part: the part's diagonal
/// moves to the right by that number. Query i of a causal call has the position i + all keys - queries, so within the
/// part i + part's keys - queries + behind, counted from its begin.
inline void see_as_part(AttentionViews& part, std::int64_t behind) {
  if (part.causal) part.attributes.right = behind;
  part.causal = false;
}

/// Keys of a plain call.
inline AttentionViews part_of(const AttentionViews& all, const KeyRange& keys) {
  AttentionViews part = all;
  cut_keys(part.k, keys);
  cut_keys(part.v, keys);
  cut_keys(part.mask, 3, keys);
  see_as_part(part, all.keys() - keys.end);
  return part;
}
inline AttentionGradientViews part_of(const AttentionGradientViews& all, const KeyRange& keys) {
  AttentionGradientViews part = all;
  part.forward = part_of(all.forward, keys);
  cut_keys(part.dk, 2, keys);
  cut_keys(part.dv, 2, keys);
  return part;
}

/// The begin and end of a rank's shard of keys.
inline KeyRange keys_of_nodes(const KeyTree& tree, const std::vector<Node>& nodes) {
  if (nodes.empty()) return {tree.keys(), tree.keys()};
  return {tree.keys_of(nodes.front()).begin, tree.keys_of(nodes.back()).end};
}

/// A rank's parts of a call whose tensors are in memory shared by all ranks.
template <class Views>
std::vector<KeyPart<Views>> parts_of_rank(const Views& all, const KeyTree& tree, int rank, int ranks) {
  std::vector<KeyPart<Views>> parts;
  for (const int shard : shards_of(rank, ranks)) {
    std::vector<Node> nodes = tree.nodes_of_shard(shard, 2 * ranks);
    const KeyRange keys = keys_of_nodes(tree, nodes);
    parts.push_back({part_of(all, keys), keys, std::move(nodes)});
  }
  return parts;
}

}  // namespace softcheck::kernels::parallel
