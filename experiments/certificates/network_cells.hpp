#pragma once

#include <cstdint>
#include <vector>

#include "experiments/max_retrieval_sets.hpp"
#include "numerics/matrices/ball_matrix.hpp"

namespace softcheck::experiments {

using numerics::BallMatrix;

/// A curve in R^d over cells of its parameter. In cell j, at its centre plus x half_j with |x| <= 1, the curve is at
/// centre_j + x half_j s for some s in slope_j (the mean value theorem, coordinate by coordinate).
struct CurveCells {
  Eigen::VectorXd at;    // (cells) where the centres are
  Eigen::VectorXd half;  // (cells), 0 for a point
  BallMatrix centre;     // (d, cells)
  BallMatrix slope;      // (d, cells), all values of the derivative in the cell

  Eigen::Index count() const { return at.size(); }
  Eigen::Index dimension() const { return centre.rows(); }
};

/// Cells [j/count, (j+1)/count] that cover [0, 1]; then the points 0 and 1, where bounds from below are attained.
/// Every number of them is a double where count is a power of two.
struct CellGrid {
  Eigen::VectorXd at;
  Eigen::VectorXd half;
};
CellGrid unit_cells(int count);
/// The points given.
CellGrid points(std::vector<double> at);

/// The real network of given parameters up to its attention, over cells. Its logits are inner products of an item and a
/// folded query:  e = (h(rho, c), 1) . (W_K | b_K)^T q'(y) / sqrt(128),  q' = W_Q Q(y) + b_Q  with h the item branch
/// and Q the query branch. The last coordinate is the same for all items of a set.
class NetworkCells {
 public:
  /// parameters   (parameter_count) finite
  explicit NetworkCells(const Floats& parameters);

  // All throw std::range_error when the network leaves the range of double.
  /// h(rho, c): priorities times classes, class after class; cells of priority.
  CurveCells items(const CellGrid& priorities) const;
  /// The same for one class of each cell.
  CurveCells items(const CellGrid& priorities, const std::vector<int>& classes) const;
  CurveCells queries_encoded(const CellGrid& queries) const;    // Q(y), 128
  CurveCells queries_projected(const CellGrid& queries) const;  // W_Q Q(y) + b_Q, 128
  CurveCells queries_folded(const CellGrid& queries) const;     // with 1/sqrt(128) and the last coordinate, 129

  const BallMatrix& weights(Layer layer) const { return weights_.at(static_cast<std::size_t>(layer)); }
  const BallMatrix& biases(Layer layer) const { return biases_.at(static_cast<std::size_t>(layer)); }

 private:
  CurveCells along(const CellGrid& queries, const BallMatrix& matrix, const BallMatrix& constant) const;

  std::vector<BallMatrix> weights_;  // of each layer, exact
  std::vector<BallMatrix> biases_;   // columns
  BallMatrix projection_;            // W_Q W_2, W_2 of the query branch
  BallMatrix projection_constant_;
  BallMatrix fold_;  // (W_K | b_K)^T W_Q W_2 / sqrt(128)
  BallMatrix fold_constant_;
};

/// The class of each item that NetworkCells::items makes of so many cells of priority.
std::vector<int> classes_of_cells(Eigen::Index cells);

/// [lower, upper] of the largest squared norm along the curve, and of the largest squared distance of any two of its
/// points. Second order in the halves.
///
/// throws   std::range_error when they leave the range of double
struct Range {
  double lower = 0;
  double upper = 0;
};
Range largest_square_norm(const CurveCells& curve);
Range largest_square_distance(const CurveCells& curve);

}  // namespace softcheck::experiments
