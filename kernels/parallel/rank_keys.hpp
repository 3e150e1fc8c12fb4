#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "kernels/cpu/attention/attention_states.hpp"
#include "kernels/cpu/attention/score_tile.hpp"
#include "kernels/parallel/communicator.hpp"
#include "kernels/parallel/forest_message.hpp"
#include "kernels/parallel/key_parts.hpp"
#include "kernels/parallel/machine.hpp"
#include "kernels/parallel/state_forest.hpp"

namespace softcheck::kernels::parallel {

/// The way in which the forests of ranks are united. The bits do not depend on it.
enum class Route {
  tree,      // to rank 0 in log2(ranks) steps, and back if all ranks need them
  ring,      // every rank's forest travels from each rank to the next
  reduction  // Communicator::reduced: with MPI, an MPI_Op
};

/// On rank 0 the forest of all ranks; on another rank that of itself and the ranks that have sent to it.
template <class T>
StateForest<T> gathered(Communicator& ranks, StateForest<T> forest) {
  for (int step = 1; step < ranks.size(); step *= 2) {
    if ((ranks.rank() & step) != 0) {
      ranks.send(ranks.rank() - step, message_of(forest));
      break;
    }
    if (ranks.rank() + step < ranks.size()) forest.unite(read_forest<T>(ranks.receive(ranks.rank() + step)));
  }
  return forest;
}

/// Rank 0's forest, in every rank.
template <class T>
StateForest<T> spread(Communicator& ranks, StateForest<T> forest) {
  const int own = ranks.rank();
  int step = own == 0 ? static_cast<int>(std::bit_ceil(static_cast<unsigned>(ranks.size()))) : (own & -own);
  if (own != 0) forest = read_forest<T>(ranks.receive(own - step));
  for (step /= 2; step > 0; step /= 2) {
    if (own + step < ranks.size()) ranks.send(own + step, message_of(forest));
  }
  return forest;
}

template <class T>
StateForest<T> circled(Communicator& ranks, StateForest<T> forest) {
  const int size = ranks.size(), next = (ranks.rank() + 1) % size, before = (ranks.rank() + size - 1) % size;
  Message message = message_of(forest);
  for (int step = 1; step < size; ++step) {
    ranks.send(next, std::move(message));
    message = ranks.receive(before);
    forest.unite(read_forest<T>(message));
  }
  return forest;
}

/// The united forests of all ranks, on rank 0; with everywhere on all ranks. The other routes always do the latter.
///
/// most   the most nodes of consecutive ranks (most_nodes): a reduction has room for no more
template <class T>
StateForest<T> united(Communicator& ranks, Route route, StateForest<T> forest, bool everywhere, std::size_t most) {
  if (ranks.size() == 1) return forest;
  if (route == Route::ring) return circled(ranks, std::move(forest));
  if (route == Route::reduction) {
    Message message(message_bytes<T>(forest.tiles(), forest.columns(), most));
    write_forest(forest, message);
    return read_forest<T>(ranks.reduced(std::move(message)));
  }
  forest = gathered(ranks, std::move(forest));
  return everywhere ? spread(ranks, std::move(forest)) : std::move(forest);
}

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

/// One rank's share of the keys of a call, and the exchange of states with the other ranks.
///
/// Views   AttentionViews or AttentionGradientViews
template <class Views>
struct RankKeys {
  /// keys   of the whole call
  /// own    this rank's parts, at least one, from parts_of_rank
  RankKeys(Communicator& all, Route by, std::int64_t keys, std::vector<KeyPart<Views>> own)
      : ranks(all), route(by), tree(keys), most(most_nodes(tree, all.size())), parts(std::move(own)) {}

  /// The queries, outputs and numbers of the call; its keys are those of the first part.
  const Views& call() const { return parts.front().views; }

  /// The states of all ranks' keys, on rank 0; with everywhere on all ranks.
  ///
  /// leaf      as in NodeStates
  /// width     of the states' values, with their padding
  /// columns   number of values in a message
  template <class T, class Leaf>
  StateForest<T> states_of(const QueryTiles& tiles, Leaf& leaf, std::size_t width, std::size_t columns,
                           bool everywhere) const {
    StateForest<T> own(tiles, width, columns);
    NodeStates<T, Leaf>(tree, leaf, width).add_to(own, parts);
    return united(ranks, route, std::move(own), everywhere, most);
  }

  Communicator& ranks;
  Route route;
  KeyTree tree;
  std::size_t most;  // nodes of a message, at most (most_nodes)
  std::vector<KeyPart<Views>> parts;
};

}  // namespace softcheck::kernels::parallel
