#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <stdexcept>
#include <utility>
#include <vector>

#include "kernels/arithmetic/aligned_array.hpp"
#include "kernels/call/attention_views.hpp"
#include "kernels/cpu/attention/attention_passes.hpp"
#include "kernels/cpu/attention/score_tile.hpp"
#include "kernels/parallel/key_tree.hpp"
#include "kernels/parallel/machine.hpp"

namespace softcheck::kernels::parallel {

/// Rows of a rank's tiles.
inline constexpr std::size_t rank_rows = row_part;

/// Of a row of a tile.
struct RowPlace {
  std::int64_t batch, head, query;
};

/// The rows of a call in tiles: those of the first key head of the first batch, then those of the next key head.
struct QueryTiles {
  std::int64_t heads = 0;  // batch times key heads
  std::int64_t rows = 0;   // of a key head: queries times heads of its group

  static constexpr auto most = static_cast<std::int64_t>(rank_rows);

  QueryTiles() = default;
  QueryTiles(std::int64_t heads_, std::int64_t rows_) : heads(heads_), rows(rows_) {}
  explicit QueryTiles(const AttentionViews& views) : QueryTiles(views.batch() * views.key_heads(), rows_of(views)) {}

  std::size_t of_head() const { return static_cast<std::size_t>((rows + most - 1) / most); }
  std::size_t count() const { return static_cast<std::size_t>(heads) * of_head(); }
  std::size_t rows_of_tile(std::size_t tile) const {
    return static_cast<std::size_t>(std::min(most, rows - first_row(tile)));
  }
  std::int64_t first_row(std::size_t tile) const { return static_cast<std::int64_t>(tile % of_head()) * most; }
  TilePlace place(std::size_t tile, std::int64_t key_heads) const {
    const auto head = static_cast<std::int64_t>(tile / of_head());
    return {head / key_heads, head % key_heads, first_row(tile), rows_of_tile(tile)};
  }
  RowPlace row_place(std::size_t tile, std::size_t row, const AttentionViews& views) const {
    const TilePlace at = place(tile, views.key_heads());
    const std::int64_t number = at.first + static_cast<std::int64_t>(row), group = views.group();
    return {at.batch, at.key_head * group + number % group, number / group};
  }
};

/// The TileStates of all tiles of a call, against some keys, and their memory.
///
/// width   columns of values, a multiple of column_group; 0: only the statistics
template <class T>
class QueryStates {
 public:
  QueryStates(const QueryTiles& tiles, std::size_t width)
      : stride_(tiles.count() * rank_rows), width_(width), rows_(4 * stride_, T(0)), values_(stride_ * width, T(0)) {}

  std::size_t width() const { return width_; }
  TileState<T> tile(std::size_t index) const {
    T* rows = rows_.get() + index * rank_rows;
    return {rows,
            rows + stride_,
            rows + 2 * stride_,
            rows + 3 * stride_,
            nullptr,
            values_.get() + index * rank_rows * width_};
  }

 private:
  std::size_t stride_, width_;
  AlignedArray<T> rows_, values_;
};

/// The state of rows that have seen nothing.
template <class T>
void clear_state(const TileState<T>& state, std::size_t rows, std::size_t width) {
  std::fill_n(state.maximum, rows, -std::numeric_limits<T>::infinity());
  std::fill_n(state.ones, rows, T(0));
  std::fill_n(state.rest, rows, T(0));
  std::fill_n(state.deviations, rows, T(0));
  if (width != 0) std::fill_n(state.values, rows * width, T(0));
}

/// The states of all queries at some nodes of the tree, none of which contains another.
///
/// Forests of different ranks may be united in any order and bracketing, with the same bits: only siblings are merged,
/// the left one first. The state of a node is always the merge of its two children, whichever rank sends them first.
/// The merge of states is a monoid in exact numbers (theory/proofs/streaming_entropy.v), not in rounded ones; the union
/// of forests is associative and commutative in both.
template <class T>
class StateForest {
 public:
  /// columns   of the states' values, those that are sent to other ranks
  StateForest(const QueryTiles& tiles, std::size_t width, std::size_t columns)
      : tiles_(tiles), width_(width), columns_(columns), undefined_(tiles.count() * rank_rows, 0) {}

  const QueryTiles& tiles() const { return tiles_; }
  std::size_t width() const { return width_; }
  std::size_t columns() const { return columns_; }
  const std::map<Node, QueryStates<T>>& nodes() const { return nodes_; }
  /// For each row, rank_rows per tile: not 0 if a visible score is NaN or +inf.
  std::vector<std::uint8_t>& undefined() { return undefined_; }
  const std::vector<std::uint8_t>& undefined() const { return undefined_; }

  /// Throws std::logic_error if the node is there already.
  void add(Node node, QueryStates<T> state) {
    for (auto sibling = nodes_.find(node ^ 1); node != root_node && sibling != nodes_.end();
         sibling = nodes_.find(node ^ 1)) {
      state = (node & 1) == 0 ? merged(std::move(state), sibling->second) : merged(std::move(sibling->second), state);
      nodes_.erase(sibling);
      node /= 2;
    }
    if (!nodes_.emplace(node, std::move(state)).second) throw std::logic_error("StateForest: a node came twice");
  }

  void unite(StateForest other) {
    for (std::size_t row = 0; row < undefined_.size(); ++row) undefined_[row] |= other.undefined_[row];
    for (auto& [node, state] : other.nodes_) add(node, std::move(state));
  }

  /// The state of all keys. Throws std::logic_error if some of them are missing.
  const QueryStates<T>& root() const {
    const auto found = nodes_.find(root_node);
    if (found == nodes_.end()) throw std::logic_error("StateForest: keys are missing");
    return found->second;
  }

 private:
  QueryStates<T> merged(QueryStates<T> left, const QueryStates<T>& right) const {
    for (std::size_t tile = 0; tile < tiles_.count(); ++tile) {
      merge_states(left.tile(tile), right.tile(tile), tiles_.rows_of_tile(tile), width_);
    }
    return left;
  }

  QueryTiles tiles_;
  std::size_t width_, columns_;
  std::map<Node, QueryStates<T>> nodes_;
  std::vector<std::uint8_t> undefined_;
};

}  // namespace softcheck::kernels::parallel
