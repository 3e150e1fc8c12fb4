#pragma once

#include <bit>
#include <utility>

#include "kernels/parallel/communicator.hpp"
#include "kernels/parallel/forest_message.hpp"
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

}  // namespace softcheck::kernels::parallel
