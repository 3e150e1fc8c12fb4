#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <type_traits>

#include "kernels/block/cluster.hpp"
#include "kernels/block/grid.hpp"
#include "kernels/emulator/machine.hpp"
#include "kernels/emulator/views.hpp"

namespace softcheck::kernels::emulator {

/// One thread of an emulated block: the BlockContext of kernels/block/context.hpp, which defines each call. The last
/// argument of each call is its source line, for findings; a kernel leaves that argument out. At a barrier and at a
/// call of the whole warp, the machine runs other threads before the call returns.
class Block {
 public:
  template <class T>
  using Shared = SharedView<T>;
  template <class T>
  using Global = GlobalView<T>;

  Block(Machine& machine, int rank) : machine_(machine), rank_(rank) {}
  Block(const Block&) = delete;
  Block& operator=(const Block&) = delete;

  int rank() const { return rank_ % size(); }
  int size() const { return machine_.shape().threads; }
  int lane() const { return rank() % warp_size; }
  int warp() const { return rank() / warp_size; }
  std::int64_t index() const { return machine_.block_index() + rank_ / size(); }
  std::int64_t count() const { return machine_.shape().blocks; }

  void sync(SourceLine where = SourceLine::here()) { machine_.sync(rank_, where); }
  int cluster_rank() const { return rank_ / size() % cluster_size(); }
  int cluster_size() const { return machine_.shape().cluster; }
  void sync_cluster(SourceLine where = SourceLine::here()) { machine_.sync_cluster(rank_, where); }
  template <class T>
  Shared<T> of_block(const Shared<T>& view, int block) const {
    return view.moved(static_cast<std::ptrdiff_t>(machine_.shared_begin(block * size())) -
                      static_cast<std::ptrdiff_t>(machine_.shared_begin(rank_)));
  }
  void signal(const Global<std::uint32_t>& counters, std::int64_t i, SourceLine where = SourceLine::here()) {
    if (std::uint32_t* counter = counters.place(i, where)) machine_.signal(rank_, counter, where);
  }
  void wait_for(const Global<std::uint32_t>& counters, std::int64_t i, std::uint32_t count,
                SourceLine where = SourceLine::here()) {
    if (const std::uint32_t* counter = counters.place(i, where)) machine_.wait_for(rank_, counter, count, where);
  }
  void sync_warp(unsigned mask, SourceLine where = SourceLine::here()) {
    machine_.warp_operation(rank_, {WarpCall::sync, mask, where, nullptr, nullptr, 0, 0});
  }

  template <class T>
  T shuffle(unsigned mask, T value, int lane, SourceLine where = SourceLine::here()) {
    return shuffled(WarpCall::shuffle, mask, value, lane, where);
  }
  template <class T>
  T shuffle_xor(unsigned mask, T value, int lanes, SourceLine where = SourceLine::here()) {
    return shuffled(WarpCall::shuffle_xor, mask, value, lanes, where);
  }
  template <class T>
  T shuffle_down(unsigned mask, T value, int distance, SourceLine where = SourceLine::here()) {
    return shuffled(WarpCall::shuffle_down, mask, value, distance, where);
  }
  template <class T>
  T shuffle_up(unsigned mask, T value, int distance, SourceLine where = SourceLine::here()) {
    return shuffled(WarpCall::shuffle_up, mask, value, distance, where);
  }

  unsigned ballot(unsigned mask, bool vote, SourceLine where = SourceLine::here()) {
    return voted<unsigned>(WarpCall::ballot, mask, vote, where);
  }
  bool any(unsigned mask, bool vote, SourceLine where = SourceLine::here()) {
    return voted<bool>(WarpCall::any, mask, vote, where);
  }
  bool all(unsigned mask, bool vote, SourceLine where = SourceLine::here()) {
    return voted<bool>(WarpCall::all, mask, vote, where);
  }

  template <class Element>
  FragmentC mma(const FragmentA<Element>& a, const FragmentB<Element>& b, const FragmentC& c,
                SourceLine where = SourceLine::here()) {
    MmaOperands operands{};
    for (int i = 0; i < 8; ++i) operands.a[i] = widened(a.get(i));
    for (int i = 0; i < 4; ++i) operands.b[i] = widened(b.get(i));
    operands.c = c;
    FragmentC product{};
    machine_.warp_operation(rank_, {WarpCall::mma, whole_warp, where, &operands, &product, 0, 0});
    return product;
  }

  template <bool transposed, class Element>
  MatrixParts<Element> load_matrices(const Shared<Element>& view, std::int64_t index,
                                     SourceLine where = SourceLine::here()) {
    static_assert(sizeof(Element) == 2);
    const auto row = std::bit_cast<MatrixRow>(view.template load_vector<8>(index, where));
    MatrixRow entries{};
    machine_.warp_operation(rank_, {WarpCall::load_matrices, whole_warp, where, &row, &entries, 0, transposed});
    MatrixParts<Element> parts;
    for (int i = 0; i < 8; ++i) parts.set(i, {entries.entry[i]});
    return parts;
  }

  /// The next count elements of the launch's shared memory. If the launch has less, the machine reports
  /// shared_exhausted and ends the launch.
  template <class T>
  Shared<T> shared(std::int64_t count, SourceLine where = SourceLine::here()) {
    static_assert(std::is_trivially_copyable_v<T>);
    const std::size_t begin = (shared_used_ + alignof(T) - 1) / alignof(T) * alignof(T);
    shared_used_ = begin + static_cast<std::size_t>(count) * sizeof(T);
    if (shared_used_ > machine_.shape().shared_bytes) exhausted(where);
    return Shared<T>(machine_, rank_, machine_.shared_begin(rank_) + begin, count);
  }

  /// Adds value, and returns the value before. The addition is one step, in shared and in global memory: the machine
  /// changes threads only between calls.
  template <class T, class View>
  T atomic_add(const View& view, std::int64_t index, T value, SourceLine where = SourceLine::here()) {
    return view.atomic_add(index, value, where);
  }

 private:
  template <class T>
  T shuffled(WarpCall call, unsigned mask, const T& value, int argument, SourceLine where) {
    static_assert(std::is_trivially_copyable_v<T>);
    T result = value;
    machine_.warp_operation(rank_, {call, mask, where, &value, &result, sizeof(T), argument});
    return result;
  }
  template <class R>
  R voted(WarpCall call, unsigned mask, bool vote, SourceLine where) {
    R result{};
    machine_.warp_operation(rank_, {call, mask, where, &vote, &result, 0, 0});
    return result;
  }

  [[noreturn]] void exhausted(SourceLine where) {
    machine_.abandon({FindingKind::shared_exhausted,
                      to_string(where) + ": needs " + std::to_string(shared_used_) + " bytes, the launch has " +
                          std::to_string(machine_.shape().shared_bytes),
                      {where}});
  }

  Machine& machine_;
  int rank_;
  std::size_t shared_used_ = 0;
};

static_assert(ClusterContext<Block> && GridContext<Block>);

}  // namespace softcheck::kernels::emulator
