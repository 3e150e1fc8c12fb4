// Cells of the network and the certified spread, judged by the network as the paper writes it.
#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>

#include "certificates_oracle.hpp"
#include "experiments/certificates/plain_layers.hpp"
#include "numerics/formats/fp_environment.hpp"

namespace softcheck::experiments {
namespace {

using Eigen::Index;
using numerics::Certificate;
using numerics::Enclosure;
using numerics::PrecisionScope;
using numerics::Verdict;
using EnclosedNetwork = RealNetwork<Enclosure>;
using LongNetwork = RealNetwork<long double>;

// Is the curve at the centre plus x half of cell j where the cell says? exact: (d) at that place.
bool in_cell(const CurveCells& curve, Index j, double x, const std::vector<Enclosure>& exact) {
  for (std::size_t i = 0; i < exact.size(); ++i) {
    const auto row = static_cast<Index>(i);
    const Enclosure reached = curve.centre(row, j) + Enclosure(x) * Enclosure(curve.half(j)) * curve.slope(row, j);
    if (!reached.contains(exact[i])) return false;
  }
  return true;
}

// The network that the cells are of, against the one whose parameters are given: every place tried is where the cells
// say.
bool cells_hold(const NetworkCells& cells, const Floats& parameters, std::uint64_t seed) {
  const PrecisionScope scope(113);
  const EnclosedNetwork network(parameters);
  RandomWords words(seed);
  const CellGrid grid = unit_cells(8);
  const CurveCells items = cells.items(grid), encoded = cells.queries_encoded(grid),
                   projected = cells.queries_projected(grid), folded = cells.queries_folded(grid);
  for (int round = 0; round < 6; ++round) {
    const auto cell = static_cast<Index>(uniform_below(words, 10));
    const double x = round % 2 == 0 ? 0 : 2 * static_cast<double>(uniform(words)) - 1;
    const double place = grid.at(cell) + x * grid.half(cell);  // exact: few bits
    const auto class_index = static_cast<int>(uniform_below(words, class_count));
    if (!in_cell(items, cell + class_index * grid.at.size(), x, network.item(place, class_index))) return false;
    if (!in_cell(encoded, cell, x, network.encoded_query(place))) return false;
    const std::vector<Enclosure> query = network.projected_query(place);
    if (!in_cell(projected, cell, x, query)) return false;
    // Folding, by its effect: the logit of an item at a point.
    const std::vector<Enclosure> item = network.item(0.25, 3);
    Enclosure logit =
        folded.centre(width, cell) + Enclosure(x) * Enclosure(grid.half(cell)) * folded.slope(width, cell);
    for (Index i = 0; i < width; ++i) {
      logit += item[static_cast<std::size_t>(i)] *
               (folded.centre(i, cell) + Enclosure(x) * Enclosure(grid.half(cell)) * folded.slope(i, cell));
    }
    if (!logit.contains(network.logit(query, network.key(0.25, 3)))) return false;
  }
  return true;
}

TEST(CertifiedSpread, CellsHoldTheNetwork) {
  const numerics::FpEnvironmentGuard environment;
  for (const Floats& parameters : networks()) EXPECT_TRUE(cells_hold(NetworkCells(parameters), parameters, 1));
}

// The first logit of a random place in a pair of cells that lies outside its bounds at y.
bool logit_bounds_hold(const Floats& parameters) {
  const NetworkCells cells(parameters);
  const LongNetwork network(parameters);
  RandomWords words(7);
  const CellGrid grid = unit_cells(128);
  const CurveCells items = cells.items(grid);
  CurveCells queries = cells.queries_folded(grid);
  queries.centre = queries.centre.top_rows(width);
  queries.slope = queries.slope.top_rows(width);
  const CellLogits logits = bound_cell_logits(items, queries);
  // Without the keys' bias: it adds the same to all logits of a query.
  const long double allowed = 1e-9L;  // of long double, on logits of at most some thousands
  for (int round = 0; round < 200; ++round) {
    const auto i = static_cast<Index>(uniform_below(words, 130)), q = static_cast<Index>(uniform_below(words, 130));
    const auto class_index = static_cast<int>(uniform_below(words, class_count));
    const double x = round % 2 == 0 ? 1 - 2.0 * (round / 2 % 2) : 2 * static_cast<double>(uniform(words)) - 1;
    const std::vector<long double> query_vector = [&] {
      const double y = round % 3 - 1;
      return network.projected_query(grid.at(q) + y * grid.half(q));
    }();
    const double priority = grid.at(i) + x * grid.half(i);
    const Index row = i + class_index * grid.at.size();
    const long double logit = network.logit(query_vector, network.key(priority, class_index)) -
                              network.logit(query_vector, network.key_bias());
    const int y = round % 3;
    if (logit > logits.upper[y](row, q) + allowed || logit < logits.lower[y](row, q) - allowed) return false;
  }
  return true;
}

TEST(CertifiedSpread, LogitsStayWithinTheirCells) {
  const numerics::FpEnvironmentGuard environment;
  for (const Floats& parameters : networks()) EXPECT_TRUE(logit_bounds_hold(parameters));
}

// Two cells around 0 whose logits are the product of both places: nothing but it is there to make room for roundings.
TEST(CertifiedSpread, RoomForRoundingsGrowsWithWhatTheCellsSpan) {
  const numerics::FpEnvironmentGuard environment;
  const auto cell = [](double half) {
    const auto one = [](double x) { return numerics::BallMatrix::exactly(Eigen::MatrixXd::Constant(1, 1, x)); };
    return CurveCells{Eigen::VectorXd::Zero(1), Eigen::VectorXd::Constant(1, half), one(0), one(1)};
  };
  const CellLogits logits = bound_cell_logits(cell(0x1p-3), cell(0x1p-4));
  for (const int y : {0, 2}) {
    EXPECT_GE(logits.upper[y](0, 0), 0x1p-7);
    EXPECT_LE(logits.lower[y](0, 0), -0x1p-7);
  }
}

long double sampled_spread(const LongNetwork& network, std::uint64_t seed) {
  RandomWords words(seed);
  std::vector<std::vector<long double>> keys;
  for (int c = 0; c < class_count; ++c) {
    for (int i = 0; i <= 24; ++i) keys.push_back(network.key(i / 24.0, c));
    for (int i = 0; i < 16; ++i) keys.push_back(network.key(uniform(words), c));
  }
  long double largest = 0;
  for (int i = 0; i <= 32; ++i) {
    const std::vector<long double> query = network.projected_query(i / 32.0);
    long double high = -INFINITY, low = INFINITY;
    for (const auto& key : keys) {
      const long double logit = network.logit(query, key);
      high = std::max(high, logit);
      low = std::min(low, logit);
    }
    largest = std::max(largest, high - low);
  }
  return largest;
}

TEST(CertifiedSpread, NoSampledSpreadExceedsIt) {
  for (const Floats& parameters : networks()) {
    const numerics::FpEnvironmentGuard environment;
    const SpreadBound bound = bound_spread(NetworkCells(parameters));
    const long double sampled = sampled_spread(LongNetwork(parameters), 11);
    EXPECT_LE(sampled, static_cast<long double>(bound.upper));
    EXPECT_GE(sampled, 0.98L * bound.lower) << "the sample is dense, and the bound is a supremum, not more";
    EXPECT_LE(bound.upper - bound.lower, 0x1p-10 * bound.lower);
  }
}

TEST(CertifiedSpread, ItsWitnessAttainsTheLowerEnd) {
  for (const Floats& parameters : networks()) {
    const PrecisionScope scope(113);
    const SpreadBound bound = bound_spread(NetworkCells(parameters));
    const EnclosedNetwork network(parameters);
    const std::vector<Enclosure> query = network.projected_query(bound.query);
    const auto logit = [&](const ItemPoint& item) {
      return network.logit(query, network.key(item.priority, item.class_index));
    };
    const Enclosure spread = logit(bound.highest) - logit(bound.lowest);
    EXPECT_TRUE((spread - Enclosure(bound.lower)).certainly_nonnegative());
    EXPECT_TRUE((Enclosure(bound.upper) - spread).certainly_nonnegative());
    EXPECT_LE((spread - Enclosure(bound.lower)).upper_double(), 1e-9 * bound.lower);
  }
}

TEST(CertifiedSpread, FinerCellsStayInsideCoarserOnes) {
  const numerics::FpEnvironmentGuard environment;
  const NetworkCells network(trained_network());
  SpreadBound coarse = bound_spread(network, 0, 32);
  for (const int cells : {64, 128}) {
    const SpreadBound fine = bound_spread(network, 0, cells);
    EXPECT_GE(fine.lower, coarse.lower);
    EXPECT_LE(fine.upper, coarse.upper);
    // Second order: half the width, a quarter of the excess; a third leaves room for the lower end.
    EXPECT_LT(fine.upper - fine.lower, (coarse.upper - coarse.lower) / 3);
    coarse = fine;
  }
}

TEST(CertifiedSpread, TheLargestLogitIsEnclosed) {
  for (const Floats& parameters : networks()) {
    const PrecisionScope scope(113);
    const SizeBound size = bound_logit_size(NetworkCells(parameters));
    const EnclosedNetwork network(parameters);
    const Enclosure at_witness =
        abs(network.logit(network.projected_query(size.query), network.key(size.item.priority, size.item.class_index)));
    EXPECT_TRUE((at_witness - Enclosure(size.lower)).certainly_nonnegative());
    EXPECT_TRUE((Enclosure(size.upper) - at_witness).certainly_nonnegative());
    EXPECT_LE(size.upper - size.lower, 0.01 * size.upper);
    const LongNetwork sampled(parameters);
    for (int i = 0; i < 60; ++i) {
      const long double logit = sampled.logit(sampled.projected_query(i % 7 / 6.0), sampled.key(i % 11 / 10.0, i % 10));
      EXPECT_LE(std::fabs(logit), static_cast<long double>(size.upper));
    }
  }
}

TEST(CertifiedSpread, OverflowIsProvedAndDisproved) {
  const auto verdicts = [](double lower, double upper, numerics::Format format) {
    std::vector<Verdict> result;
    for (const Certificate& c : certify_no_overflow({lower, upper, 0.5, {1, 3}}, format)) result.push_back(c.verdict);
    return result;
  };
  using numerics::Format;
  const double root = std::sqrt(128.0);
  EXPECT_THAT(verdicts(100, 101, Format::f16), testing::ElementsAre(Verdict::proved, Verdict::proved));
  // 65504 / sqrt(128) = 5789.8: overflows before it is scaled, not after.
  EXPECT_THAT(verdicts(65504 / root + 1, 65504 / root + 2, Format::f16),
              testing::ElementsAre(Verdict::violated, Verdict::proved));
  EXPECT_THAT(verdicts(65505, 65506, Format::f16), testing::ElementsAre(Verdict::violated, Verdict::violated));
  EXPECT_THAT(verdicts(65505, 65506, Format::bf16), testing::ElementsAre(Verdict::proved, Verdict::proved));
  EXPECT_THAT(verdicts(5700, 5800, Format::f16), testing::ElementsAre(Verdict::undecided, Verdict::proved));
}

TEST(CertifiedSpread, NormsAreEnclosed) {
  for (const Floats& parameters : networks()) {
    const numerics::FpEnvironmentGuard environment;
    const NetworkCells cells(parameters);
    const LongNetwork network(parameters);
    const Range query = largest_square_norm(cells.queries_encoded(unit_cells(64)));
    const Range item = largest_square_norm(cells.items(unit_cells(64)));
    const Range distance = largest_square_distance(cells.items(unit_cells(64)));
    std::vector<std::vector<long double>> items;
    long double sampled_query = 0, sampled_item = 0, sampled_distance = 0;
    const auto square_distance = [](const std::vector<long double>& a, const std::vector<long double>& b) {
      long double sum = 0;
      for (std::size_t i = 0; i < a.size(); ++i) sum += (a[i] - b[i]) * (a[i] - b[i]);
      return sum;
    };
    const std::vector<long double> origin(width, 0);
    for (int i = 0; i <= 20; ++i) {
      sampled_query = std::max(sampled_query, square_distance(network.encoded_query(i / 20.0), origin));
      for (int c = 0; c < class_count; ++c) items.push_back(network.item(i / 20.0, c));
    }
    for (const auto& a : items) {
      sampled_item = std::max(sampled_item, square_distance(a, origin));
      for (const auto& b : items) sampled_distance = std::max(sampled_distance, square_distance(a, b));
    }
    const auto enclosed = [](long double sampled, const Range& range) {
      EXPECT_LE(sampled, static_cast<long double>(range.upper));
      EXPECT_GE(sampled, 0.95L * range.lower);
      EXPECT_LE(range.lower, range.upper);
      EXPECT_LE(range.upper, 1.01 * range.lower);
    };
    enclosed(sampled_query, query);
    enclosed(sampled_item, item);
    enclosed(sampled_distance, distance);
  }
}

TEST(CertifiedSpread, WhatLeavesTheRangeOfDoubleIsRefused) {
  const numerics::FpEnvironmentGuard environment;
  Floats parameters = random_network(3, 1);
  for (float& value : parameters) value *= 3e38F;
  EXPECT_THROW(
      {
        const NetworkCells network(parameters);
        bound_spread(network);
      },
      std::range_error);
}

}  // namespace
}  // namespace softcheck::experiments
