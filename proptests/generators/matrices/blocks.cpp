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

bool zero(Block& block) {
  return change(block, [](double) { return 0.0; });
}

// Changes every block; returns true if one became simpler.
template <class Simpler>
BlockStep all_of(Simpler simpler) {
  return [=](Blocks& blocks) {
    bool any = false;
    for (Block& block : blocks) any |= simpler(block);
    return any;
  };
}

}  // namespace

std::vector<BlockStep> steps_of(const Blocks& blocks) {
  std::vector<BlockStep> steps;
  for (int axis = 0; axis < axes_of(blocks); ++axis) {
    const std::size_t count = extent(blocks, axis);
    for (std::size_t size = count / 2; size > 0; size /= 2) {
      for (std::size_t first = 0; first < count; first += size) {
        steps.push_back([=](Blocks& to) {
          for (Block& block : to) {
            block.matrix = without(block.matrix, block.row_axis == axis, block.col_axis == axis, first, size);
          }
          return true;
        });
      }
    }
  }
  steps.push_back(all_of(zero));
  for (const int bits : {1, 2, 4, 8, 16, 32}) {
    steps.push_back(
        all_of([=](Block& block) { return change(block, [=](double x) { return round_to_bits(x, bits); }); }));
  }
  for (std::size_t block = 0; block < blocks.size(); ++block) {
    steps.push_back([=](Blocks& to) { return zero(to[block]); });
  }
  for (std::size_t block = 0; block < blocks.size(); ++block) {
    const std::vector<double>& entries = blocks[block].matrix.entries;
    for (std::size_t i = 0; i < entries.size(); ++i) {
      for (const double simpler : simpler_numbers(entries[i])) {
        steps.push_back([=](Blocks& to) {
          to[block].matrix.entries[i] = simpler;
          return true;
        });
      }
    }
  }
  return steps;
}

}  // namespace softcheck::proptests
