#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <stdexcept>
#include <utility>
#include <vector>

#include "kernels/cpu/attention/attention_passes.hpp"
#include "kernels/parallel/key_tree.hpp"
#include "kernels/parallel/machine.hpp"
#include "kernels/parallel/query_states.hpp"

namespace softcheck::kernels::parallel {

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
