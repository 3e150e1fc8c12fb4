#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <set>
#include <vector>

// The tree by which the keys of a call are summed. It depends only on the number of keys, not on the ranks, and so do
// the bits.
namespace softcheck::kernels::parallel {

/// Keys [begin, end).
struct KeyRange {
  std::int64_t begin, end;
};

/// A node of the tree: 1 is the root, and 2 i and 2 i + 1 are the children of i.
using Node = std::uint64_t;

inline constexpr Node root_node = 1;

/// Keys of a leaf: 128, as in the CPU's kernels, if that makes more than 8 leaves. Else few enough that 8 ranks have
/// two shards each, but at least 16.
constexpr std::int64_t keys_of_leaf(std::int64_t keys) {
  std::int64_t leaf = 16;
  while (leaf < 128 && leaf * 16 < keys) leaf *= 2;
  return leaf;
}

/// A binary tree over the leaves of a call's keys, padded with empty leaves to a power of two. If all leaves on one
/// side of a node are empty, the node equals its other side: a merge with an empty state changes no bit.
class KeyTree {
 public:
  explicit KeyTree(std::int64_t keys)
      : keys_(keys),
        leaf_(keys_of_leaf(keys)),
        leaves_((keys + leaf_ - 1) / leaf_),
        slots_(static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(leaves_)))),
        depth_(std::bit_width(static_cast<std::uint64_t>(slots_)) - 1) {}

  std::int64_t keys() const { return keys_; }
  /// The number of merges from a leaf to the root.
  int depth() const { return depth_; }
  bool is_leaf(Node node) const { return level_of(node) == depth_; }
  /// Nothing if the node's leaves are empty: begin is then end.
  KeyRange keys_of(Node node) const {
    const int level = level_of(node);
    const auto index = static_cast<std::int64_t>(node - (Node{1} << level));
    const std::int64_t width = leaf_ << (depth_ - level);
    return {std::min(index * width, keys_), std::min((index + 1) * width, keys_)};
  }

  /// The largest nodes that together form shard `shard` of `shards` shards of the keys, in order; shards are as equal
  /// as leaves allow. The last shard also has the empty leaves, so that every leaf is in one shard.
  std::vector<Node> nodes_of_shard(int shard, int shards) const {
    const auto cut = [&](std::int64_t index) { return index == shards ? slots_ : index * leaves_ / shards; };
    std::vector<Node> nodes;
    cover(root_node, 0, slots_, cut(shard), cut(std::int64_t{shard} + 1), nodes);
    return nodes;
  }

 private:
  static int level_of(Node node) { return std::bit_width(node) - 1; }

  /// Adds the largest nodes of [begin, end) below a node of the slots [first, last).
  static void cover(Node node, std::int64_t first, std::int64_t last, std::int64_t begin, std::int64_t end,
                    std::vector<Node>& nodes) {
    if (end <= first || last <= begin || begin == end) return;
    if (begin <= first && last <= end) {
      nodes.push_back(node);
      return;
    }
    const std::int64_t middle = first + (last - first) / 2;
    cover(2 * node, first, middle, begin, end, nodes);
    cover(2 * node + 1, middle, last, begin, end, nodes);
  }

  std::int64_t keys_, leaf_, leaves_, slots_;
  int depth_;
};

/// The two shards of a rank, of 2 ranks shards: one from the front and its mirror image from the back ("zigzag"). Under
/// causality the work on a key falls with its place, so that all ranks have nearly the same.
inline std::vector<int> shards_of(int rank, int ranks) { return {rank, 2 * ranks - 1 - rank}; }

/// Adds a node to a set of which none lies within another. Two siblings become their parent.
inline void add_node(Node node, std::set<Node>& nodes) {
  while (node != root_node && nodes.erase(node ^ 1) != 0) node /= 2;
  nodes.insert(node);
}

/// The most nodes that some consecutive ranks have together.
inline std::size_t most_nodes(const KeyTree& tree, int ranks) {
  std::size_t most = 1;
  for (int first = 0; first < ranks; ++first) {
    std::set<Node> nodes;
    for (int rank = first; rank < ranks; ++rank) {
      for (const int shard : shards_of(rank, ranks)) {
        for (const Node node : tree.nodes_of_shard(shard, 2 * ranks)) add_node(node, nodes);
      }
      most = std::max(most, nodes.size());
    }
  }
  return most;
}

}  // namespace softcheck::kernels::parallel
