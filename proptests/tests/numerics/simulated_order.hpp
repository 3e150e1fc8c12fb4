#pragma once

#include <algorithm>
#include <span>
#include <utility>
#include <vector>

#include "numerics/rounding/contract.hpp"

namespace softcheck::numerics::simulated {

/// What merge makes of the leaves, one after the other.
template <class Leaf, class Merge>
Leaf merged_sequentially(std::span<const Leaf> leaves, Merge merge) {
  Leaf total = leaves.front();
  for (const Leaf& leaf : leaves.subspan(1)) total = merge(total, leaf);
  return total;
}

/// What merge makes of the leaves in a balanced tree.
template <class Leaf, class Merge>
Leaf merged_pairwise(std::vector<Leaf> leaves, Merge merge) {
  while (leaves.size() > 1) {
    std::vector<Leaf> halved;
    for (std::size_t i = 0; i + 1 < leaves.size(); i += 2) halved.push_back(merge(leaves[i], leaves[i + 1]));
    if (leaves.size() % 2) halved.push_back(leaves.back());
    leaves = std::move(halved);
  }
  return leaves.front();
}

/// What merge makes of the leaves in a contract's order.
///
/// leaves   at least one          empty   a leaf that changes nothing
template <class Leaf, class Merge>
Leaf merged_in_order(const Summation& summation, std::vector<Leaf> leaves, const Leaf& empty, Merge merge) {
  const std::size_t width = summation.width;
  const std::span<const Leaf> all(leaves);
  std::vector<Leaf> partial;
  switch (summation.kind) {
    case Summation::Kind::sequential:
      return merged_sequentially(all, merge);
    case Summation::Kind::tree:
      return merged_pairwise(std::move(leaves), merge);
    case Summation::Kind::lanes:
      partial.assign(width, empty);
      for (std::size_t i = 0; i < all.size(); ++i) {
        partial[i % width] = i < width ? all[i] : merge(partial[i % width], all[i]);
      }
      return merged_pairwise(std::move(partial), merge);
    case Summation::Kind::blocks:
      for (std::size_t i = 0; i < all.size(); i += width) {
        partial.push_back(merged_sequentially(all.subspan(i, std::min(width, all.size() - i)), merge));
      }
      return merged_pairwise(std::move(partial), merge);
  }
  return empty;
}

}  // namespace softcheck::numerics::simulated
