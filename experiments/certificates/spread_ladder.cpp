#include "experiments/certificates/spread_ladder.hpp"

#include <algorithm>

#include "theory/proposition_3_1.hpp"

namespace softcheck::experiments {

using Eigen::Index;
using numerics::Certificate;
using numerics::certify_less_equal;
using numerics::Enclosure;
using numerics::Sides;

namespace {

constexpr unsigned precision = 113;
constexpr int sampled_queries = 64, sampled_items = 1024;

Enclosure enclosure_of(const Range& range) { return Enclosure::between(range.lower, range.upper); }
Enclosure enclosure_of(const numerics::SingularValueEnclosure& sigma) {
  return Enclosure::between(sigma.lower, sigma.upper);
}

Enclosure frobenius_square(const BallMatrix& matrix) {
  Enclosure sum;
  for (Index j = 0; j < matrix.cols(); ++j) {
    for (Index i = 0; i < matrix.rows(); ++i) sum += square(matrix(i, j));
  }
  return sum;
}

CurveCells folded_without_offset(const NetworkCells& network, const CellGrid& grid) {
  CurveCells folded = network.queries_folded(grid);
  folded.centre = folded.centre.top_rows(width);
  folded.slope = folded.slope.top_rows(width);
  return folded;
}

// sigma(A) of a product known as a ball: off by at most the norm of its radii.
Enclosure sigma_of(const BallMatrix& matrix, const SigmaEnclosure& sigma) {
  const Enclosure radius = sqrt(frobenius_square(BallMatrix::exactly(matrix.radius)));
  const Enclosure off(radius.upper_double());
  return enclosure_of(sigma(matrix.middle)) + hull(-off, off);
}

theory::SpreadTerms<Enclosure> terms_of(const NetworkCells& network, const SigmaEnclosure& sigma) {
  constexpr int cells = 64;
  const CellGrid grid = unit_cells(cells);
  const CurveCells items = network.items(grid);
  const BallMatrix transposed_key = network.weights(Layer::attention_key).transpose();
  theory::SpreadTerms<Enclosure> terms;
  terms.dimension = width;
  terms.sigma_query = enclosure_of(sigma(network.weights(Layer::attention_query).middle));
  terms.sigma_key = enclosure_of(sigma(network.weights(Layer::attention_key).middle));
  terms.sigma_joint = sigma_of(transposed_key * network.weights(Layer::attention_query), sigma);
  terms.query_square = enclosure_of(largest_square_norm(network.queries_encoded(grid)));
  terms.bias_square = frobenius_square(network.biases(Layer::attention_query));
  terms.joint_bias_square = frobenius_square(transposed_key * network.biases(Layer::attention_query));
  // The folded query has its 1/sqrt(128) in it, the term has not.
  terms.direct_square = Enclosure(width) * enclosure_of(largest_square_norm(folded_without_offset(network, grid)));
  terms.item_square = enclosure_of(largest_square_norm(items));
  terms.difference_square = enclosure_of(largest_square_distance(items));
  return terms;
}

Enclosure observed_spread(const NetworkCells& network, std::uint64_t seed) {
  RandomWords words(seed);
  std::vector<double> priorities, queries;
  std::vector<int> classes;
  for (int i = 0; i < sampled_items; ++i) {
    priorities.push_back(uniform(words));
    classes.push_back(static_cast<int>(uniform_below(words, class_count)));
  }
  for (int i = 0; i < sampled_queries; ++i) queries.push_back(uniform(words));
  const CellLogits logits =
      bound_cell_logits(network.items(points(priorities), classes), folded_without_offset(network, points(queries)));
  Enclosure largest;
  for (Index q = 0; q < logits.upper[1].cols(); ++q) {
    const auto upper = logits.upper[1].col(q), lower = logits.lower[1].col(q);
    const Enclosure highest = Enclosure::between(lower.maxCoeff(), upper.maxCoeff());
    const Enclosure lowest = Enclosure::between(lower.minCoeff(), upper.minCoeff());
    largest = maximum(largest, highest - lowest);
  }
  return largest;
}

std::string item_witness(const ItemPoint& item) {
  return "(" + numerics::hex_float(item.priority) + ", class " + std::to_string(item.class_index) + ")";
}

}  // namespace

SigmaEnclosure certified_sigma_enclosure() {
  return [](const Eigen::MatrixXd& matrix) { return numerics::largest_singular_value(matrix); };
}

SpreadLadder spread_ladder(const NetworkCells& network, std::uint64_t seed, const SigmaEnclosure& sigma) {
  const numerics::PrecisionScope scope(precision);
  const theory::SpreadTerms<Enclosure> terms = terms_of(network, sigma);
  const theory::SpreadForms<Enclosure> forms = theory::spread_forms(terms);
  const Enclosure norms = terms.sigma_joint * sqrt(terms.query_square) + sqrt(terms.joint_bias_square);
  const Enclosure joint_gap =
      (norms - sqrt(terms.direct_square)) * sqrt(terms.difference_square / Enclosure(terms.dimension));
  return {observed_spread(network, seed),
          bound_spread(network),
          forms.direct,
          forms.joint,
          joint_gap,
          forms.biased,
          std::to_string(sampled_queries) + " queries over " + std::to_string(sampled_items) + " items, seed " +
              std::to_string(seed)};
}

std::vector<Certificate> certify_ladder(const SpreadLadder& ladder) {
  const Enclosure exact = Enclosure::between(ladder.exact.lower, ladder.exact.upper);
  const Enclosure upper(ladder.exact.upper);
  const std::string witness = witness_of(ladder.exact);
  const auto rung = [&](const char* claim, const Enclosure& smaller, const Enclosure& larger) {
    return certify_less_equal(claim, witness, [&] { return Sides{smaller, larger}; });
  };
  return {
      certify_less_equal("model.spread.observed", ladder.sample,
                         [&] {
                           return Sides{ladder.observed, upper};
                         }),
      certify_less_equal("model.spread.exact", witness,
                         [&] {
                           const Enclosure allowed = Enclosure(ladder.exact.lower) / Enclosure(1000);
                           return Sides{upper - Enclosure(ladder.exact.lower), allowed};
                         }),
      rung("model.spread.direct", exact, ladder.direct),
      certify_less_equal("model.spread.joint", witness,
                         [&] {
                           return Sides{ladder.direct, ladder.joint, ladder.joint_gap};
                         }),
      rung("model.spread.product", ladder.joint, ladder.product),
  };
}

std::string witness_of(const SpreadBound& bound) {
  return "query " + numerics::hex_float(bound.query) + ", items " + item_witness(bound.highest) + " and " +
         item_witness(bound.lowest);
}

}  // namespace softcheck::experiments
