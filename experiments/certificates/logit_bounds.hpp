#pragma once

#include "experiments/certificates/network_cells.hpp"

namespace softcheck::experiments {

/// An item and a query of the network.
struct ItemPoint {
  double priority = 0;
  int class_index = 0;
};

/// The largest spread max e - min e of the logits of one query, over all items and queries: an enclosure and the
/// query and the two items that attain its lower end.
struct SpreadBound {
  double lower = 0;
  double upper = 0;
  double query = 0;
  ItemPoint highest;
  ItemPoint lowest;
  int cells = 0;  // of each axis, at the end

  /// (upper - lower) / lower, for display.
  double relative_width() const { return (upper - lower) / lower; }
};

/// Cells are halved until the enclosure is relatively narrower than tolerance. It stops earlier at most_cells an axis,
/// or when halving no longer narrows the enclosure; the result is then wider.
SpreadBound bound_spread(const NetworkCells& network, double tolerance = 0x1p-10, int most_cells = 1024);

/// The largest |e| over all items and queries, with the last coordinate, of logits scaled by 1/sqrt(128).
struct SizeBound {
  double lower = 0;
  double upper = 0;
  double query = 0;
  ItemPoint item;
};
SizeBound bound_logit_size(const NetworkCells& network, int cells = 64);

/// Bounds of the logits of item cell i under a query of a query cell, at the places y = -1, 0, 1 of that cell: over the
/// parts [0, 1] and [-1, 0] of it each bound is linear in y, so that the largest difference of two of them is at one of
/// the three.
struct CellLogits {
  Eigen::MatrixXd upper[3];
  Eigen::MatrixXd lower[3];
};

/// items    (d) and queries (d): cells of both; returns (items, queries)
CellLogits bound_cell_logits(const CurveCells& items, const CurveCells& queries);

}  // namespace softcheck::experiments
