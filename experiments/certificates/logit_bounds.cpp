#include "experiments/certificates/logit_bounds.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <stdexcept>

namespace softcheck::experiments {

using Eigen::ArrayXXd;
using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;

namespace {

CurveCells without_last_row(CurveCells curve) {
  const Index rows = curve.dimension() - 1;
  curve.centre = curve.centre.top_rows(rows);
  curve.slope = curve.slope.top_rows(rows);
  return curve;
}

// (h, 1): the 1 multiplies the last coordinate of a folded query.
CurveCells with_one(CurveCells curve) {
  const Index rows = curve.dimension() + 1;
  for (BallMatrix* matrix : {&curve.centre, &curve.slope}) {
    matrix->middle.conservativeResize(rows, Eigen::NoChange);
    matrix->radius.conservativeResize(rows, Eigen::NoChange);
    matrix->middle.row(rows - 1).setConstant(matrix == &curve.centre ? 1 : 0);
    matrix->radius.row(rows - 1).setZero();
  }
  return curve;
}

// Columns [first, first + count).
CurveCells part(const CurveCells& curve, Index first, Index count) {
  const auto cut = [&](const BallMatrix& x) {
    return BallMatrix{x.middle.middleCols(first, count), x.radius.middleCols(first, count)};
  };
  return {curve.at.segment(first, count), curve.half.segment(first, count), cut(curve.centre), cut(curve.slope)};
}

// A query with two items, as places on cells: -1, 0, 1 are the beginning, the centre and the end of one.
struct Candidate {
  Index query = 0, highest = 0, lowest = 0;
};

struct Search {
  double upper = 0;
  double best_centre = -1;
  Candidate candidate;
};

// One block of query cells against all item cells.
void search_block(const CurveCells& items, const CurveCells& queries, Index first, Search& search) {
  const CellLogits logits = bound_cell_logits(items, queries);
  for (Index q = 0; q < queries.count(); ++q) {
    double upper = 0;
    for (int y = 0; y < 3; ++y) {
      const double difference = logits.upper[y].col(q).maxCoeff() - logits.lower[y].col(q).minCoeff();
      upper = std::max(upper, difference + numerics::rounding_share(1) * std::fabs(difference));
    }
    search.upper = std::max(search.upper, upper);
    if (upper > search.best_centre) {
      search.best_centre = upper;
      search.candidate.query = first + q;
      logits.upper[1].col(q).maxCoeff(&search.candidate.highest);
      logits.lower[1].col(q).minCoeff(&search.candidate.lowest);
    }
  }
}

std::vector<double> ends_and_centre(const CurveCells& curve, Index cell) {
  const double at = curve.at(cell), half = curve.half(cell);
  return {at - half, at, at + half};
}

// The best of the corners of the most promising cells, evaluated: true points, hence a bound from below.
void raise_lower(const NetworkCells& network, const CurveCells& items, const CurveCells& queries,
                 const std::vector<int>& classes, const Candidate& candidate, SpreadBound& bound) {
  const std::vector<double> at = ends_and_centre(queries, candidate.query);
  std::vector<double> priorities = ends_and_centre(items, candidate.highest);
  const std::vector<double> lowest = ends_and_centre(items, candidate.lowest);
  priorities.insert(priorities.end(), lowest.begin(), lowest.end());
  const int high_class = classes.at(static_cast<std::size_t>(candidate.highest));
  const int low_class = classes.at(static_cast<std::size_t>(candidate.lowest));
  const CurveCells corner_items =
      network.items(points(priorities), {high_class, high_class, high_class, low_class, low_class, low_class});
  const CellLogits logits = bound_cell_logits(corner_items, without_last_row(network.queries_folded(points(at))));
  for (Index q = 0; q < 3; ++q) {
    Index high = 0, low = 0;
    const double highest = logits.lower[1].col(q).head(3).maxCoeff(&high);
    const double smallest = logits.upper[1].col(q).tail(3).minCoeff(&low);
    const double spread = (highest - smallest) - numerics::rounding_share(1) * std::fabs(highest - smallest);
    if (!(spread > bound.lower)) continue;
    bound.lower = spread;
    bound.query = at[static_cast<std::size_t>(q)];
    bound.highest = {priorities[static_cast<std::size_t>(high)], high_class};
    bound.lowest = {lowest[static_cast<std::size_t>(low)], low_class};
  }
}

}  // namespace

CellLogits bound_cell_logits(const CurveCells& items, const CurveCells& queries) {
  // (v + x eta s) . (w + y zeta t) = v.w + x eta s.w + y zeta v.t + x y eta zeta s.t
  const BallMatrix centre = inner_products(items.centre, queries.centre);
  const BallMatrix along_item = inner_products(items.slope, queries.centre);
  const BallMatrix along_query = inner_products(items.centre, queries.slope);
  const BallMatrix across = inner_products(items.slope, queries.slope);
  const VectorXd& eta = items.half;
  const VectorXd& zeta = queries.half;
  const ArrayXXd shift = (along_query.middle * zeta.asDiagonal()).array();
  const ArrayXXd fixed =
      centre.radius.array() + (eta.asDiagonal() * (along_item.middle.cwiseAbs() + along_item.radius)).array();
  const ArrayXXd growing = (along_query.radius * zeta.asDiagonal()).array() +
                           (eta.asDiagonal() * (across.middle.cwiseAbs() + across.radius) * zeta.asDiagonal()).array();
  // At most 12 roundings, each of a part of this.
  const ArrayXXd slack = numerics::rounding_share(16) * (centre.middle.array().abs() + shift.abs() + fixed + growing) +
                         numerics::underflow_share;
  CellLogits logits;
  for (int y = 0; y < 3; ++y) {
    const double place = y - 1;
    const ArrayXXd middle = centre.middle.array() + place * shift;
    const ArrayXXd reach = fixed + std::fabs(place) * growing + slack;
    logits.upper[y] = middle + reach;
    logits.lower[y] = middle - reach;
    // Comparisons with NaN would be false, and so skip it.
    if (!logits.upper[y].allFinite() || !logits.lower[y].allFinite()) {
      throw std::range_error("bound_cell_logits: the logits of this network leave the range of double");
    }
  }
  return logits;
}

SpreadBound bound_spread(const NetworkCells& network, double tolerance, int most_cells) {
  constexpr int fewest_cells = 32;
  constexpr Index block = 64;  // query cells at a time: memory
  const numerics::FpEnvironmentGuard environment;
  SpreadBound bound;
  bound.upper = std::numeric_limits<double>::infinity();
  double before = std::numeric_limits<double>::max();
  for (int cells = fewest_cells; cells <= most_cells; cells *= 2) {
    const CellGrid grid = unit_cells(cells);
    const CurveCells items = network.items(grid);
    const CurveCells queries = without_last_row(network.queries_folded(grid));
    Search search;
    for (Index first = 0; first < queries.count(); first += block) {
      search_block(items, part(queries, first, std::min(block, queries.count() - first)), first, search);
    }
    raise_lower(network, items, queries, classes_of_cells(grid.at.size()), search.candidate, bound);
    bound.upper = std::min(bound.upper, search.upper);
    bound.cells = cells;
    const double width = bound.upper - bound.lower;
    // The form converges quadratically: one that halving does not halve has left that regime for good, by weights so
    // large that a cell spans the whole curve or logits that are all alike.
    if (width <= tolerance * bound.lower || !(width <= before / 2)) break;
    before = width;
  }
  return bound;
}

SizeBound bound_logit_size(const NetworkCells& network, int cells) {
  const numerics::FpEnvironmentGuard environment;
  const CellGrid grid = unit_cells(cells);
  const CurveCells items = with_one(network.items(grid));
  const CurveCells queries = network.queries_folded(grid);
  const CellLogits logits = bound_cell_logits(items, queries);
  SizeBound bound;
  Index item = 0, query = 0;
  for (int y = 0; y < 3; ++y) {
    bound.upper = std::max({bound.upper, logits.upper[y].maxCoeff(), -logits.lower[y].minCoeff()});
  }
  // At a centre the size is at least how far its enclosure stays away from 0; points have the narrowest.
  const CurveCells at_items = with_one(network.items({grid.at, VectorXd::Zero(grid.at.size())}));
  const CurveCells at_queries = network.queries_folded({grid.at, VectorXd::Zero(grid.at.size())});
  const CellLogits at_points = bound_cell_logits(at_items, at_queries);
  bound.lower = at_points.lower[1].cwiseMax(-at_points.upper[1]).maxCoeff(&item, &query);
  bound.lower = std::max(bound.lower, 0.0);
  bound.query = grid.at(query);
  bound.item = {grid.at(item % grid.at.size()), static_cast<int>(item / grid.at.size())};
  return bound;
}

}  // namespace softcheck::experiments
