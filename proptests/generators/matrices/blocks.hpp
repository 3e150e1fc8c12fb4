#pragma once

#include <optional>
#include <vector>

#include "proptests/generators/matrices/matrix.hpp"

namespace softcheck::proptests {

/// A matrix whose rows and columns lie along numbered axes: what is dropped along an axis is dropped from every block
/// that has it. Axis -1 is fixed.
struct Block {
  Matrix matrix;
  int row_axis = -1;
  int col_axis = -1;
};
using Blocks = std::vector<Block>;

/// One way to simpler blocks. Each lowers (number of entries, complexity of the entries) in this order.
struct BlockStep {
  enum class Way { drop, zero_all, round_all, zero_block, simplify } way;
  int axis = -1;          // drop
  std::size_t block = 0;  // zero_block, simplify
  std::size_t first = 0;  // drop: index along the axis; simplify: entry
  std::size_t size = 0;   // drop: how many; round_all: bits; simplify: which simpler number
};

/// All steps, the boldest first; along every axis one row or column stays.
std::vector<BlockStep> steps_of(const Blocks& blocks);

/// Nothing where the step makes nothing simpler.
std::optional<Blocks> take_step(const Blocks& blocks, const BlockStep& step);

}  // namespace softcheck::proptests
