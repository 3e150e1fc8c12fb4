#include "proptests/generators/matrices/blocks.hpp"

#include <algorithm>

#include "proptests/generators/text/case_text.hpp"

namespace softcheck::proptests {
namespace {

std::size_t extent(const Blocks& blocks, int axis) {
  for (const Block& block : blocks) {
    if (block.row_axis == axis) return block.matrix.rows;
    if (block.col_axis == axis) return block.matrix.cols;
  }
  return 0;
}

int axes_of(const Blocks& blocks) {
  int last = -1;
  for (const Block& block : blocks) last = std::max({last, block.row_axis, block.col_axis});
  return last + 1;
}

Matrix without(const Matrix& from, bool rows, bool cols, std::size_t first, std::size_t size) {
  const auto dropped = [&](std::size_t i) { return i >= first && i < first + size; };
  Matrix result;
  for (std::size_t i = 0; i < from.rows; ++i) {
    if (rows && dropped(i)) continue;
    ++result.rows;
    for (std::size_t j = 0; j < from.cols; ++j) {
      if (!(cols && dropped(j))) result.entries.push_back(from(i, j));
    }
  }
  result.cols = result.entries.size() / result.rows;
  return result;
}

/// Changes every entry of a block; returns true if the entries became simpler.
template <class Change>
bool change(Block& block, Change simpler) {
  long before = 0;
  long after = 0;
  for (double& entry : block.matrix.entries) {
    before += complexity(entry);
    entry = simpler(entry);
    after += complexity(entry);
  }
  return after < before;
}

}  // namespace

std::vector<BlockStep> steps_of(const Blocks& blocks) {
  using Way = BlockStep::Way;
  std::vector<BlockStep> steps;
  for (int axis = 0; axis < axes_of(blocks); ++axis) {
    const std::size_t count = extent(blocks, axis);
    for (std::size_t size = count / 2; size > 0; size /= 2) {
      for (std::size_t first = 0; first < count; first += size) steps.push_back({Way::drop, axis, 0, first, size});
    }
  }
  steps.push_back({Way::zero_all});
  for (std::size_t bits : {1, 2, 4, 8, 16, 32}) steps.push_back({Way::round_all, -1, 0, 0, bits});
  for (std::size_t block = 0; block < blocks.size(); ++block) steps.push_back({Way::zero_block, -1, block, 0, 0});
  for (std::size_t block = 0; block < blocks.size(); ++block) {
    const std::vector<double>& entries = blocks[block].matrix.entries;
    for (std::size_t i = 0; i < entries.size(); ++i) {
      const std::size_t count = simpler_numbers(entries[i]).size();
      for (std::size_t k = 0; k < count; ++k) steps.push_back({Way::simplify, -1, block, i, k});
    }
  }
  return steps;
}

std::optional<Blocks> take_step(const Blocks& blocks, const BlockStep& step) {
  const auto zero = [](double) { return 0.0; };
  Blocks result = blocks;
  bool simpler = false;
  switch (step.way) {
    case BlockStep::Way::drop:
      if (extent(blocks, step.axis) <= step.size) return std::nullopt;
      for (Block& block : result) {
        block.matrix =
            without(block.matrix, block.row_axis == step.axis, block.col_axis == step.axis, step.first, step.size);
      }
      simpler = true;
      break;
    case BlockStep::Way::zero_all:
      for (Block& block : result) simpler |= change(block, zero);
      break;
    case BlockStep::Way::round_all:
      for (Block& block : result) {
        simpler |= change(block, [&](double x) { return round_to_bits(x, static_cast<int>(step.size)); });
      }
      break;
    case BlockStep::Way::zero_block:
      simpler = change(result[step.block], zero);
      break;
    case BlockStep::Way::simplify: {
      double& entry = result[step.block].matrix.entries[step.first];
      entry = simpler_numbers(entry)[step.size];
      simpler = true;
    }
  }
  if (!simpler) return std::nullopt;
  return result;
}

}  // namespace softcheck::proptests
