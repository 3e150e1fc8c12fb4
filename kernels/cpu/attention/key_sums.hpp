#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "kernels/arithmetic/aligned_array.hpp"
#include "kernels/arithmetic/tile_products.hpp"
#include "kernels/cpu/attention/attention_states.hpp"
#include "kernels/cpu/attention/seen_product.hpp"
#include "kernels/cpu/machine.hpp"

namespace softcheck::kernels::cpu {

/// Rows whose contributions to dk and dv are added one after the other, docs/tolerances/attention_gradient.md.
inline constexpr std::size_t gradient_rows = 48;

/// Sums over the rows of a key head for blocks of its keys, (key_block, width) numbers per block: dk or dv. Tiles of
/// rows are added to a block in the order of their numbers, pairwise, in a binary tree in which a tile's number gives
/// its place. So tiles of 2^i gradient_rows rows give the same bits for every i. Tiles that see none of a block may be
/// skipped.
template <class T>
class KeySums {
 public:
  /// tiles: the largest number of tiles.
  KeySums(std::size_t blocks, std::size_t width, std::size_t tiles) : size_(key_block * width), occupied_(blocks) {
    for (std::size_t level = max_nodes(tiles); level-- > 0;) {
      levels_.emplace_back(blocks * size_);
    }
  }
  static std::size_t numbers(std::size_t blocks, std::size_t width, std::size_t tiles) {
    return max_nodes(tiles) * blocks * key_block * width;
  }

  std::size_t width() const { return size_ / key_block; }
  void clear() { std::fill(occupied_.begin(), occupied_.end(), 0); }

  /// Memory for a tile's contribution to a block: to be written, or added. Then call added().
  struct Place {
    T* to;
    bool add;
  };
  Place next(std::size_t block, std::size_t tile) const {
    const std::size_t level = level_of(block, tile);
    const bool add = (tile >> level & 1) != 0;
    return {at(block, add ? level + 1 : level), add};
  }
  void added(std::size_t block, std::size_t tile) {
    std::size_t level = level_of(block, tile);
    std::uint64_t& held = occupied_[block];
    if ((tile >> level & 1) != 0) {
      held ^= std::uint64_t{1} << level;
      for (++level; (tile >> level & 1) != 0; ++level) {
        if ((held >> level & 1) != 0) {
          add_elements(at(block, level), size_, at(block, level + 1));
          held ^= std::uint64_t{1} << level;
        }
      }
    }
    held |= std::uint64_t{1} << level;
  }

  /// The sum of a block; all zero without tiles.
  T* total(std::size_t block) {
    if (occupied_[block] == 0) {
      std::fill_n(number(block, 0), size_, T(0));
    }
    for (auto left = static_cast<std::size_t>(std::popcount(occupied_[block])); left > 1; --left) {
      add_elements(number(block, left - 1), size_, number(block, left - 2));
    }
    return number(block, 0);
  }

 private:
  /// Levels of the tree that hold a node at once.
  static std::size_t max_nodes(std::size_t tiles) { return std::max(counter_levels(tiles) - 1, std::size_t{1}); }

  /// The level of the first node that the tile is added to, or of its own node: skips nodes without a left child.
  std::size_t level_of(std::size_t block, std::size_t tile) const {
    std::size_t level = 0;
    while ((tile >> level & 1) != 0 && (occupied_[block] >> level & 1) == 0) {
      ++level;
    }
    return level;
  }
  T* number(std::size_t block, std::size_t index) const { return levels_[index].get() + block * size_; }
  /// Memory for the block's node that comes after those of this level and above.
  T* at(std::size_t block, std::size_t level) const {
    return number(block, level < 64 ? static_cast<std::size_t>(std::popcount(occupied_[block] >> level)) : 0);
  }

  std::size_t size_;
  std::vector<AlignedArray<T>> levels_;
  std::vector<std::uint64_t> occupied_;  // of each block, bit l: a node of level l
};

/// A tile's contribution to a block: a^T b, a (rows, key_block) and b from row first on.
///
/// scores   (rows, key_block): -inf if a row does not see a key
/// partial  whether there is any such score
template <class T>
void add_contribution(const TileProduct<T>& product, std::size_t first, bool partial, const T* scores,
                      std::size_t count, std::size_t block, std::size_t tile, KeySums<T>& sums) {
  const auto [to, add] = sums.next(block, tile);
  ChainedProduct<T> chained{product, gradient_rows, first / gradient_rows, add};
  chained.of.c = to;
  partial_chained_product(chained, partial, scores, count, product.c_stride);
  sums.added(block, tile);
}

}  // namespace softcheck::kernels::cpu
