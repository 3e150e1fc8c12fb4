#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <new>
#include <numbers>
#include <random>
#include <vector>

#include "experiments/max_retrieval_layout.hpp"

namespace softcheck::experiments {

/// Storage that begins at a multiple of 64 bytes. Vectorised sums begin at an aligned address: otherwise their order,
/// and so their last bit, would depend on the address of a vector.
template <class T>
struct AlignedAllocator {
  using value_type = T;
  static constexpr std::align_val_t alignment{64};

  AlignedAllocator() = default;
  template <class U>
  AlignedAllocator(const AlignedAllocator<U>&) {}
  T* allocate(std::size_t count) { return static_cast<T*>(::operator new(count * sizeof(T), alignment)); }
  void deallocate(T* place, std::size_t) { ::operator delete(place, alignment); }
  friend bool operator==(const AlignedAllocator&, const AlignedAllocator&) { return true; }
};
using Floats = std::vector<float, AlignedAllocator<float>>;

/// Sets of one size, drawn as in Appendix A: priorities and queries uniform in [0, 1), classes uniform; the target is
/// the class of the item with the largest priority.
struct RetrievalSets {
  int size = 0;
  int count = 0;
  Floats items;              // (item_features, count * size), an item is contiguous: priority, one-hot of its class
  Floats queries;            // (count)
  std::vector<int> targets;  // (count)
};

/// A stream of 64-bit words, the same on every machine.
using RandomWords = std::mt19937_64;

/// Uniform in [0, 1): a multiple of 2^-24, so that it is one in every scalar from float on.
inline float uniform(RandomWords& words) { return static_cast<float>(words() >> 40) * 0x1p-24F; }

/// Uniform in {0, ..., bound - 1}, without the bias of a remainder; bound >= 1.
std::uint64_t uniform_below(RandomWords& words, std::uint64_t bound);

/// size >= 1 items in each of count >= 1 sets.
RetrievalSets draw_sets(int size, int count, RandomWords& words);

/// Weights of all layers, lecun-normal truncated at two standard deviations (Appendix A), biases 0.
Floats initial_parameters(RandomWords& words);

/// Box and Muller's transform, one value of the two. normal_distribution differs between standard libraries; these
/// draws are the same everywhere that log and cos are.
inline double normal_draw(RandomWords& words) {
  const double u = (static_cast<double>(words() >> 11) + 1) * 0x1p-53;  // (0, 1]
  const double v = static_cast<double>(words() >> 11) * 0x1p-53;
  return std::sqrt(-2 * std::log(u)) * std::cos(2 * std::numbers::pi * v);
}

}  // namespace softcheck::experiments
