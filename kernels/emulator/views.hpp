#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <span>
#include <type_traits>

#include "kernels/block/context.hpp"
#include "kernels/emulator/shared_memory.hpp"
#include "kernels/emulator/source_line.hpp"

namespace softcheck::kernels::emulator {

class Machine;

/// Returns whether index is within [0, size). If it is not, the launch that runs on this thread of the operating system
/// gets a finding; the function throws std::out_of_range if no launch runs. Under the random schedule the machine
/// may run another thread here.
///
/// what   "global view" or "shared view", for the message
bool within(const char* what, std::int64_t index, std::int64_t size, SourceLine where);

/// Returns whether address is a multiple of size, in bytes. If it is not, the running launch gets a finding.
bool aligned_to(const char* what, std::size_t address, std::size_t size, SourceLine where);

/// The kinds of access to memory.
enum class MemoryUse { read, write, atomic };

/// Records an access to size bytes of global memory, for the search for races, where a launch runs on this thread of
/// the operating system and traces that memory.
void trace_global(MemoryUse use, const void* element, std::size_t size, std::int64_t index, SourceLine where);

/// The value that a read outside a view returns, and that shared memory is filled with at first: all bits set, a NaN in
/// every format.
template <class T>
T poisoned() {
  T value;
  std::memset(static_cast<void*>(&value), 0xff, sizeof value);
  return value;
}

/// A view of global memory: count elements, every access checked against them. It meets ReadableView, and WritableView
/// unless T is const (kernels/block/context.hpp); an access outside does nothing but add a finding. The caller keeps
/// the memory.
template <class T>
class GlobalView {
 public:
  using Value = std::remove_const_t<T>;

  GlobalView() = default;
  GlobalView(T* data, std::int64_t count) : data_(data), count_(count) {}
  GlobalView(std::span<T> elements) : GlobalView(elements.data(), static_cast<std::int64_t>(elements.size())) {}

  std::int64_t size() const { return count_; }
  Value load(std::int64_t index, SourceLine where = SourceLine::here()) const {
    if (!within("global view", index, count_, where)) return poisoned<Value>();
    trace_global(MemoryUse::read, data_ + index, sizeof(T), index, where);
    return data_[index];
  }
  void store(std::int64_t index, Value value, SourceLine where = SourceLine::here()) const
      requires(!std::is_const_v<T>) {
    if (!within("global view", index, count_, where)) return;
    trace_global(MemoryUse::write, data_ + index, sizeof(T), index, where);
    data_[index] = value;
  }
  template <int n>
  bool aligned(std::int64_t index) const {
    return address(index) % sizeof(Vector<Value, n>) == 0;
  }
  template <int n>
  Vector<Value, n> load_vector(std::int64_t index, SourceLine where = SourceLine::here()) const {
    if (!holds_vector<n>(index, where)) return poisoned<Vector<Value, n>>();
    trace_global(MemoryUse::read, data_ + index, n * sizeof(T), index, where);
    Vector<Value, n> values;
    std::memcpy(static_cast<void*>(&values), data_ + index, sizeof values);
    return values;
  }
  template <int n>
  void store_vector(std::int64_t index, const Vector<Value, n>& values, SourceLine where = SourceLine::here()) const
      requires(!std::is_const_v<T>) {
    if (!holds_vector<n>(index, where)) return;
    trace_global(MemoryUse::write, data_ + index, n * sizeof(T), index, where);
    std::memcpy(data_ + index, &values, sizeof values);
  }
  /// The address of an element; nullptr outside.
  T* place(std::int64_t index, SourceLine where = SourceLine::here()) const {
    return within("global view", index, count_, where) ? data_ + index : nullptr;
  }
  Value atomic_add(std::int64_t index, Value value, SourceLine where = SourceLine::here()) const
      requires(!std::is_const_v<T>) {
    if (!within("global view", index, count_, where)) return poisoned<Value>();
    trace_global(MemoryUse::atomic, data_ + index, sizeof(T), index, where);
    const Value before = data_[index];
    data_[index] = before + value;
    return before;
  }

 private:
  std::size_t address(std::int64_t index) const {
    return reinterpret_cast<std::uintptr_t>(data_) + static_cast<std::size_t>(index) * sizeof(T);
  }
  template <int n>
  bool holds_vector(std::int64_t index, SourceLine where) const {
    return within("global view", index, count_, where) && within("global view", index + n - 1, count_, where) &&
           aligned_to("global view", address(index), sizeof(Vector<Value, n>), where);
  }

  T* data_ = nullptr;
  std::int64_t count_ = 0;
};

/// A view of a block's shared memory, as one thread has it from Block::shared. Every access is checked against the
/// view's size, against what has been written, and against the accesses of other threads since the last barrier.
template <class T>
class SharedView {
 public:
  SharedView(Machine& machine, int rank, std::size_t begin, std::int64_t count)
      : machine_(&machine), rank_(rank), begin_(begin), count_(count) {}

  /// The same elements of the block whose memory begins that many bytes behind this one's.
  SharedView moved(std::ptrdiff_t bytes) const {
    return {*machine_, rank_, begin_ + static_cast<std::size_t>(bytes), count_};
  }

  std::int64_t size() const { return count_; }
  T load(std::int64_t index, SourceLine where = SourceLine::here()) const;
  void store(std::int64_t index, T value, SourceLine where = SourceLine::here()) const;
  /// A block's shared memory begins at a multiple of 16 bytes.
  template <int n>
  bool aligned(std::int64_t index) const {
    return element(index).offset % sizeof(Vector<T, n>) == 0;
  }
  template <int n>
  Vector<T, n> load_vector(std::int64_t index, SourceLine where = SourceLine::here()) const;
  template <int n>
  void store_vector(std::int64_t index, const Vector<T, n>& values, SourceLine where = SourceLine::here()) const;
  T atomic_add(std::int64_t index, T value, SourceLine where = SourceLine::here()) const;

 private:
  SharedElement element(std::int64_t index, std::size_t count = 1) const {
    return {index, begin_ + static_cast<std::size_t>(index) * sizeof(T), count * sizeof(T)};
  }
  template <int n>
  bool holds_vector(std::int64_t index, SourceLine where) const {
    return within("shared view", index, count_, where) && within("shared view", index + n - 1, count_, where) &&
           aligned_to("shared view", element(index).offset, sizeof(Vector<T, n>), where);
  }

  Machine* machine_;
  int rank_;
  std::size_t begin_;
  std::int64_t count_;
};

/// Records an access to shared memory, for the search for races and for reads before a write, and returns the element's
/// bytes.
std::byte* access_shared(Machine& machine, int rank, MemoryUse use, const SharedElement& element, SourceLine where);

template <class T>
T SharedView<T>::load(std::int64_t index, SourceLine where) const {
  if (!within("shared view", index, count_, where)) return poisoned<T>();
  T value;
  std::memcpy(static_cast<void*>(&value), access_shared(*machine_, rank_, MemoryUse::read, element(index), where),
              sizeof value);
  return value;
}

template <class T>
void SharedView<T>::store(std::int64_t index, T value, SourceLine where) const {
  if (!within("shared view", index, count_, where)) return;
  std::memcpy(access_shared(*machine_, rank_, MemoryUse::write, element(index), where), &value, sizeof value);
}

template <class T>
template <int n>
Vector<T, n> SharedView<T>::load_vector(std::int64_t index, SourceLine where) const {
  if (!holds_vector<n>(index, where)) return poisoned<Vector<T, n>>();
  Vector<T, n> values;
  std::memcpy(static_cast<void*>(&values), access_shared(*machine_, rank_, MemoryUse::read, element(index, n), where),
              sizeof values);
  return values;
}

template <class T>
template <int n>
void SharedView<T>::store_vector(std::int64_t index, const Vector<T, n>& values, SourceLine where) const {
  if (!holds_vector<n>(index, where)) return;
  std::memcpy(access_shared(*machine_, rank_, MemoryUse::write, element(index, n), where), &values, sizeof values);
}

template <class T>
T SharedView<T>::atomic_add(std::int64_t index, T value, SourceLine where) const {
  if (!within("shared view", index, count_, where)) return poisoned<T>();
  std::byte* place = access_shared(*machine_, rank_, MemoryUse::atomic, element(index), where);
  T before;
  std::memcpy(&before, place, sizeof before);
  const T after = before + value;
  std::memcpy(place, &after, sizeof after);
  return before;
}

}  // namespace softcheck::kernels::emulator
