#pragma once

#include <rapidcheck.h>

#include <Eigen/Core>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "proptests/generators/drawing/lazy_shrinks.hpp"
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

/// One step to simpler blocks; false if it makes nothing simpler. Each lowers (number of entries, complexity of the
/// entries) lexicographically.
using BlockStep = std::function<bool(Blocks&)>;

/// All steps, largest reductions first; every axis keeps at least one index.
std::vector<BlockStep> steps_of(const Blocks& blocks);

/// The simpler cases of a case with these blocks: make(simpler blocks, case).
template <class Case, class Make>
rc::Seq<Case> shrink_blocks(const Case& of, const Blocks& blocks, Make make) {
  const auto steps = std::make_shared<const std::vector<BlockStep>>(steps_of(blocks));
  return lazy_shrinks(of, steps->size(), [=](const Case& from, std::size_t k) {
    Blocks simpler = blocks;
    return (*steps)[k](simpler) ? std::optional<Case>(make(simpler, from)) : std::nullopt;
  });
}

inline Eigen::MatrixXd to_eigen(const Matrix& matrix) {
  using Rows = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
  return Eigen::Map<const Rows>(matrix.entries.data(), static_cast<Eigen::Index>(matrix.rows),
                                static_cast<Eigen::Index>(matrix.cols));
}

}  // namespace softcheck::proptests
