#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "kernels/parallel/communicator.hpp"
#include "kernels/parallel/key_parts.hpp"
#include "kernels/parallel/machine.hpp"
#include "kernels/parallel/merge_routes.hpp"
#include "kernels/parallel/node_states.hpp"

namespace softcheck::kernels::parallel {

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
