#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <stdexcept>
#include <utility>

#include "kernels/parallel/communicator.hpp"
#include "kernels/parallel/machine.hpp"
#include "kernels/parallel/state_forest.hpp"

// A StateForest as self-describing bytes, because the function of a reduction gets nothing else. After the header come
// a byte for each row (undefined), and for each node its number and, row by row, m, ones, rest, T and the columns of
// the values.
namespace softcheck::kernels::parallel {

struct ForestHead {
  std::uint64_t bytes_of_number, heads, rows, width, columns, nodes;
};

/// Bytes of a message with this number of nodes.
template <class T>
std::size_t message_bytes(const QueryTiles& tiles, std::size_t columns, std::size_t nodes) {
  const auto rows = static_cast<std::size_t>(tiles.heads * tiles.rows);
  return sizeof(ForestHead) + rows + nodes * (sizeof(Node) + rows * (4 + columns) * sizeof(T));
}

/// Writes values one after the other.
class MessageWriter {
 public:
  explicit MessageWriter(std::span<std::byte> to) : to_(to) {}
  template <class Value>
  void put(const Value* values, std::size_t count = 1) {
    const std::size_t size = count * sizeof(Value);
    if (size > to_.size()) throw std::length_error("MessageWriter: a message is too small for its forest");
    if (size != 0) std::memcpy(to_.data(), values, size);
    to_ = to_.subspan(size);
  }

 private:
  std::span<std::byte> to_;
};

class MessageReader {
 public:
  explicit MessageReader(std::span<const std::byte> from) : from_(from) {}
  template <class Value>
  void get(Value* values, std::size_t count = 1) {
    const std::size_t size = count * sizeof(Value);
    if (size > from_.size()) throw std::length_error("MessageReader: a message ends early");
    if (size != 0) std::memcpy(values, from_.data(), size);
    from_ = from_.subspan(size);
  }

 private:
  std::span<const std::byte> from_;
};

/// each(state, row): of all rows, tile by tile.
template <class T, class Each>
void each_row(const QueryTiles& tiles, const QueryStates<T>& states, Each each) {
  for (std::size_t tile = 0; tile < tiles.count(); ++tile) {
    const TileState<T> state = states.tile(tile);
    for (std::size_t row = 0; row < tiles.rows_of_tile(tile); ++row) each(state, row);
  }
}

/// Throws std::length_error if to is too small.
template <class T>
void write_forest(const StateForest<T>& forest, std::span<std::byte> to) {
  MessageWriter writer(to);
  const QueryTiles& tiles = forest.tiles();
  const ForestHead head{sizeof(T),
                        static_cast<std::uint64_t>(tiles.heads),
                        static_cast<std::uint64_t>(tiles.rows),
                        forest.width(),
                        forest.columns(),
                        forest.nodes().size()};
  writer.put(&head);
  for (std::size_t tile = 0; tile < tiles.count(); ++tile) {
    writer.put(forest.undefined().data() + tile * rank_rows, tiles.rows_of_tile(tile));
  }
  for (const auto& [node, states] : forest.nodes()) {
    writer.put(&node);
    each_row(tiles, states, [&](const TileState<T>& state, std::size_t row) {
      const T numbers[4] = {state.maximum[row], state.ones[row], state.rest[row], state.deviations[row]};
      writer.put(numbers, 4);
      writer.put(state.values + row * forest.width(), forest.columns());
    });
  }
}

template <class T>
Message message_of(const StateForest<T>& forest) {
  Message message(message_bytes<T>(forest.tiles(), forest.columns(), forest.nodes().size()));
  write_forest(forest, message);
  return message;
}

/// Throws std::length_error or std::logic_error if these are no bytes of a forest.
template <class T>
StateForest<T> read_forest(std::span<const std::byte> from) {
  MessageReader reader(from);
  ForestHead head;
  reader.get(&head);
  if (head.bytes_of_number != sizeof(T)) throw std::logic_error("read_forest: numbers of another format");
  const QueryTiles tiles(static_cast<std::int64_t>(head.heads), static_cast<std::int64_t>(head.rows));
  StateForest<T> forest(tiles, head.width, head.columns);
  for (std::size_t tile = 0; tile < tiles.count(); ++tile) {
    reader.get(forest.undefined().data() + tile * rank_rows, tiles.rows_of_tile(tile));
  }
  for (std::uint64_t i = 0; i < head.nodes; ++i) {
    Node node = 0;
    reader.get(&node);
    QueryStates<T> states(tiles, head.width);
    each_row(tiles, states, [&](const TileState<T>& state, std::size_t row) {
      T numbers[4];
      reader.get(numbers, 4);
      state.maximum[row] = numbers[0];
      state.ones[row] = numbers[1];
      state.rest[row] = numbers[2];
      state.deviations[row] = numbers[3];
      reader.get(state.values + row * head.width, head.columns);
    });
    forest.add(node, std::move(states));
  }
  return forest;
}

/// take(forest) of the forest of two messages.
template <class Take>
void take_union(std::span<const std::byte> other, std::span<const std::byte> own, Take take) {
  const auto unite = [&]<class T>(T) {
    StateForest<T> forest = read_forest<T>(own);
    forest.unite(read_forest<T>(other));
    take(forest);
  };
  ForestHead head;
  MessageReader(own).get(&head);
  head.bytes_of_number == sizeof(double) ? unite(double{}) : unite(float{});
}

/// The union of both forests. Throws as read_forest.
inline Message united_message(std::span<const std::byte> other, std::span<const std::byte> own) {
  Message message;
  take_union(other, own, [&](const auto& forest) { message = message_of(forest); });
  return message;
}

/// The same, overwriting own: for an MPI_Op. Throws std::length_error if own is too small.
inline void unite_messages(std::span<const std::byte> other, std::span<std::byte> own) {
  take_union(other, own, [&](const auto& forest) { write_forest(forest, own); });
}

}  // namespace softcheck::kernels::parallel
