#pragma once

#include <optional>
#include <vector>

#include "proptests/generators/matrices/matrix.hpp"

namespace softcheck::proptests {

/// A matrix whose rows and columns belong to numbered axes: dropping indices of an axis drops them from every block
/// with that axis. Axis -1 is fixed.
struct Block {
  Matrix matrix;
  int row_axis = -1;
  int col_axis = -1;
};
using Blocks = std::vector<Block>;

/// One step to simpler blocks. Each lowers (number of entries, complexity of the entries) lexicographically.
struct BlockStep {
  enum class Way { drop, zero_all, round_all, zero_block, simplify } way;
  int axis = -1;          // drop
  std::size_t block = 0;  // zero_block, simplify
  std::size_t first = 0;  // drop: index along the axis; simplify: entry
  std::size_t size = 0;   // drop: how many; round_all: bits; simplify: index of the simpler number
};

/// All steps, largest reductions first; every axis keeps at least one index.
std::vector<BlockStep> steps_of(const Blocks& blocks);

/// Nothing if the step makes nothing simpler.
std::optional<Blocks> take_step(const Blocks& blocks, const BlockStep& step);

}  // namespace softcheck::proptests
