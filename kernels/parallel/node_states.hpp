#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "kernels/cpu/attention/attention_states.hpp"
#include "kernels/cpu/attention/score_tile.hpp"
#include "kernels/parallel/key_parts.hpp"
#include "kernels/parallel/machine.hpp"
#include "kernels/parallel/state_forest.hpp"

namespace softcheck::kernels::parallel {

/// The states of a rank's nodes, for one tile of queries after the other.
///
/// Leaf   begin(views, place, tile): takes the tile's queries. operator()(keys, state): writes the state of a leaf,
/// with
///        keys counted from the part's begin, at least one of them. undefined(row): whether a score seen since begin is
///        NaN or +inf
template <class T, class Leaf>
class NodeStates {
 public:
  NodeStates(const KeyTree& tree, Leaf& leaf, std::size_t width) : tree_(tree), leaf_(leaf), width_(width) {
    for (int level = 0; level < tree.depth(); ++level) levels_.emplace_back(rank_rows, width, false);
  }

  template <class Views>
  void add_to(StateForest<T>& forest, const std::vector<KeyPart<Views>>& parts) {
    const QueryTiles& tiles = forest.tiles();
    for (const KeyPart<Views>& part : parts) {
      std::vector<QueryStates<T>> states;
      for (std::size_t i = 0; i < part.nodes.size(); ++i) states.emplace_back(tiles, width_);
      for (std::size_t tile = 0; tile < tiles.count(); ++tile) {
        rows_ = tiles.rows_of_tile(tile);
        begin_ = part.keys.begin;
        leaf_.begin(part.views, tiles.place(tile, forward_of(part.views).key_heads()), tile);
        for (std::size_t i = 0; i < part.nodes.size(); ++i) find(part.nodes[i], states[i].tile(tile), 0);
        for (std::size_t row = 0; row < rows_; ++row) {
          if (leaf_.undefined(row)) forest.undefined()[tile * rank_rows + row] = 1;
        }
      }
      for (std::size_t i = 0; i < part.nodes.size(); ++i) forest.add(part.nodes[i], std::move(states[i]));
    }
  }

 private:
  /// level: of levels_ that are free.
  void find(Node node, const TileState<T>& state, std::size_t level) {
    const auto [begin, end] = tree_.keys_of(node);
    if (begin == end) {
      clear_state(state, rows_, width_);
    } else if (tree_.is_leaf(node)) {
      leaf_(KeySpan{begin - begin_, static_cast<std::size_t>(end - begin)}, state);
    } else {
      find(2 * node, state, level + 1);
      const TileState<T> right = levels_[level].state();
      find(2 * node + 1, right, level + 1);
      merge_states(state, right, rows_, width_);
    }
  }

  const KeyTree& tree_;
  Leaf& leaf_;
  std::size_t width_;
  std::vector<OwnedState<T>> levels_;
  std::size_t rows_ = 0;
  std::int64_t begin_ = 0;
};

}  // namespace softcheck::kernels::parallel
