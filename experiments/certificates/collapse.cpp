#include "experiments/certificates/collapse.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <stdexcept>

#include "experiments/certificates/gelu.hpp"
#include "numerics/enclosures/ulp.hpp"
#include "theory/corollary_b_1.hpp"

namespace softcheck::experiments {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;
using numerics::Certificate;
using numerics::Enclosure;
using numerics::Format;
using numerics::Sides;

namespace {

constexpr double infinite = std::numeric_limits<double>::infinity();

BallMatrix ball_of(const Enclosure& x) {
  const double middle = x.midpoint();
  const Enclosure off = abs(x - Enclosure(middle));
  return {MatrixXd::Constant(1, 1, middle), MatrixXd::Constant(1, 1, off.upper_double())};
}

BallMatrix column(const BallMatrix& x, Index j) { return {x.middle.col(j), x.radius.col(j)}; }

BallMatrix dense(const NetworkCells& network, Layer layer, const BallMatrix& x) {
  return add_to_columns(network.weights(layer) * x, network.biases(layer));
}

CurveCells item_at(const NetworkCells& network, const ItemPoint& item) {
  return network.items(points({item.priority}), {item.class_index});
}

// The pair as exact as doubles give it: its values and the difference of its logits.
struct PairBalls {
  BallMatrix odd_value, other_value;
  Enclosure difference;
};
PairBalls balls_of(const NetworkCells& network, const CollapseSet& set) {
  const BallMatrix odd = item_at(network, set.odd).centre, other = item_at(network, set.other).centre;
  const BallMatrix folded = network.queries_folded(points({set.query})).centre.top_rows(width);
  const BallMatrix difference = odd + BallMatrix{-other.middle, other.radius};
  return {dense(network, Layer::attention_value, odd), dense(network, Layer::attention_value, other),
          inner_products(difference, folded)(0, 0)};
}

// Values (1 - alpha) b + alpha a for alpha in cells that cover [0, last], and at last itself.
BallMatrix mixed_values(const PairBalls& pair, const Enclosure& last, int cells) {
  const BallMatrix change = pair.odd_value + BallMatrix{-pair.other_value.middle, pair.other_value.radius};
  const double end = last.upper_double();
  MatrixXd middle(1, cells), radius(1, cells);
  for (int j = 0; j < cells; ++j) {
    middle(0, j) = end * ((2 * j + 1) / (2.0 * cells));
    radius(0, j) = end / (2.0 * cells) * (1 + 0x1p-40);  // neighbours overlap despite rounding
  }
  return add_to_columns(change * BallMatrix{middle, radius}, pair.other_value);
}

Enclosure odd_coefficient(const PairBalls& pair, std::uint64_t n) {
  return theory::leading_coefficient(Enclosure::integer(n), pair.difference, Enclosure(1));
}

// The margin of b's class on the sets of n items and more: their alphas are at most that of n.
Enclosure margin_from(const NetworkCells& network, const CollapseSet& set, const PairBalls& pair, std::uint64_t n) {
  constexpr int cells = 64;
  const BallMatrix values = mixed_values(pair, odd_coefficient(pair, n), cells);
  return least_margin(scores_of_values(network, values), set.other.class_index);
}

// Smallest n found such that the margin is proved from it on.
std::uint64_t first_error(const NetworkCells& network, const CollapseSet& set, const PairBalls& pair) {
  const auto proved = [&](std::uint64_t n) { return margin_from(network, set, pair, n).certainly_positive(); };
  std::uint64_t last = 2;
  constexpr std::uint64_t longest = std::uint64_t{1} << 62;
  while (!proved(last)) {
    if (last >= longest) return 0;
    last *= 2;
  }
  std::uint64_t first = last / 2;  // not proved, or 1
  while (last - first > 1) {
    const std::uint64_t between = first + (last - first) / 2;
    (proved(between) ? last : first) = between;
  }
  return last;
}

bool is_right_at_two(const NetworkCells& network, const CollapseSet& set, const PairBalls& pair) {
  const BallMatrix alpha = ball_of(odd_coefficient(pair, 2));
  const BallMatrix change = pair.odd_value + BallMatrix{-pair.other_value.middle, pair.other_value.radius};
  const BallMatrix value = add_to_columns(change * alpha, pair.other_value);
  return least_margin(scores_of_values(network, value), set.odd.class_index).certainly_positive();
}

// ln n at which the 16-bit formats round every coordinate that they hold to b's, roughly: for choosing a pair.
double rough_log_length(const VectorXd& odd, const VectorXd& other, double difference) {
  double largest = 1;
  for (const Format format : {Format::f16, Format::bf16}) {
    for (Index i = 0; i < odd.size(); ++i) {
      const double at = numerics::round_to(format, other(i));
      const double off = std::fabs(numerics::round_to(format, odd(i)) - at);
      if (std::isfinite(at) && std::isfinite(off)) largest = std::max(largest, 4 * off / numerics::ulp(format, at));
    }
  }
  return difference + std::log(largest);
}

// All pairs of a grid of queries, priorities of b and classes.
class PairSearch {
 public:
  PairSearch(const NetworkCells& network, std::uint64_t longest)
      : network_(network),
        longest_(std::log(static_cast<double>(longest))),
        items_(network.items(points(priorities_))),
        values_(dense(network, Layer::attention_value, items_.centre)),
        logits_(inner_products(items_.centre, network.queries_folded(points(queries_)).centre.top_rows(width))),
        scores_(scores_of_values(network, values_)) {}

  std::optional<CollapseSet> best() const {
    std::optional<CollapseSet> result;
    double least_cost = infinite;
    for (Index b = 0; b < items_.count(); ++b) {
      const ItemPoint other = item(b);
      if (other.priority == 1) continue;
      const BallMatrix of_other{scores_.middle.col(b), scores_.radius.col(b)};
      if (!least_margin(of_other, other.class_index).certainly_positive()) continue;
      for (Index a = 0; a < items_.count(); ++a) {
        if (item(a).priority != 1 || item(a).class_index == other.class_index) continue;
        for (Index q = 0; q < static_cast<Index>(queries_.size()); ++q) consider(a, b, q, result, least_cost);
      }
    }
    return result;
  }

 private:
  ItemPoint item(Index i) const {
    const auto count = static_cast<Index>(priorities_.size());
    return {priorities_[static_cast<std::size_t>(i % count)], static_cast<int>(i / count)};
  }

  // Prefers lengths close below the longest one; above it, the shortest.
  double cost(double log_length) const {
    constexpr double too_long = 1e6;  // more than any logarithm of a length that is of use
    return log_length <= longest_ ? longest_ - log_length : too_long + log_length;
  }

  void consider(Index a, Index b, Index q, std::optional<CollapseSet>& best, double& least_cost) const {
    const double difference = logits_.middle(a, q) - logits_.middle(b, q);
    if (!(difference > 0)) return;
    const double cost_here = cost(rough_log_length(values_.middle.col(a), values_.middle.col(b), difference));
    if (best && best->right_at_two && !(cost_here < least_cost)) return;
    CollapseSet set{queries_[static_cast<std::size_t>(q)], item(a), item(b), false, 0};
    const PairBalls pair{column(values_, a), column(values_, b), logits_(a, q) - logits_(b, q)};
    set.right_at_two = is_right_at_two(network_, set, pair);
    if (best && set.right_at_two == best->right_at_two && !(cost_here < least_cost)) return;
    if (best && best->right_at_two && !set.right_at_two) return;
    best = set;
    least_cost = cost_here;
  }

  const NetworkCells& network_;
  double longest_;
  std::vector<double> priorities_{1, 0, 0.5, 0.75, 0.875, 0.9375, 0.96875, 0.984375, 0.9921875, 0.99609375};
  std::vector<double> queries_{0, 0.5, 1};
  CurveCells items_;
  BallMatrix values_, logits_, scores_;
};

VectorXd rounded(Format format, const VectorXd& x) {
  return x.unaryExpr([format](double value) { return numerics::round_to(format, value); });
}

// 0 < margin: there is no threshold, and so no slack.
Certificate certify_positive(const std::string& claim, const std::string& witness,
                             const std::function<Enclosure()>& margin) {
  Certificate result = numerics::certify_less(claim, witness, [&] { return Sides{Enclosure(0), margin()}; });
  result.slack = std::numeric_limits<double>::quiet_NaN();
  return result;
}

std::string describe(const CollapseSet& set) {
  const auto text = [](const ItemPoint& item) {
    return "(" + numerics::hex_float(item.priority) + ", class " + std::to_string(item.class_index) + ")";
  };
  return "query " + numerics::hex_float(set.query) + ", a " + text(set.odd) + ", b " + text(set.other);
}

theory::CollapseCase case_of(const CollapseTensors& tensors, Index coordinate) {
  return {tensors.format, tensors.spread, 1, tensors.odd_value(coordinate), tensors.other_value(coordinate)};
}

}  // namespace

BallMatrix scores_of_values(const NetworkCells& network, const BallMatrix& values) {
  const BallMatrix output = dense(network, Layer::attention_output, values);
  return dense(network, Layer::head_2, gelu(dense(network, Layer::head_1, output)));
}

Enclosure least_margin(const BallMatrix& scores, int class_index) {
  std::optional<Enclosure> least;
  for (Index j = 0; j < scores.cols(); ++j) {
    for (Index c = 0; c < scores.rows(); ++c) {
      if (c == class_index) continue;
      const Enclosure margin = scores(class_index, j) - scores(c, j);
      least = least ? minimum(*least, margin) : margin;
    }
  }
  return *least;
}

std::optional<CollapseSet> find_collapse(const NetworkCells& network, std::uint64_t longest) {
  std::optional<CollapseSet> set = PairSearch(network, longest).best();
  if (!set) return set;
  set->wrong_from = first_error(network, *set, balls_of(network, *set));
  if (set->wrong_from == 0) return std::nullopt;
  return set;
}

Certificate certify_error(const NetworkCells& network, const CollapseSet& set) {
  if (!(set.odd.priority > set.other.priority) || set.odd.class_index == set.other.class_index) {
    throw std::invalid_argument("certify_error: need a of a larger priority than b and of another class, got " +
                                describe(set));
  }
  return certify_positive("model.error", describe(set) + ", n >= " + std::to_string(set.wrong_from),
                          [&] { return margin_from(network, set, balls_of(network, set), set.wrong_from); });
}

CollapseTensors collapse_tensors(const NetworkCells& network, const CollapseSet& set, Format format) {
  const BallMatrix odd = item_at(network, set.odd).centre, other = item_at(network, set.other).centre;
  CollapseTensors tensors;
  tensors.format = format;
  tensors.query = rounded(format, network.queries_projected(points({set.query})).centre.middle);
  tensors.odd_key = rounded(format, dense(network, Layer::attention_key, odd).middle);
  tensors.other_key = rounded(format, dense(network, Layer::attention_key, other).middle);
  tensors.odd_value = rounded(format, dense(network, Layer::attention_value, odd).middle);
  tensors.other_value = rounded(format, dense(network, Layer::attention_value, other).middle);
  tensors.scale = 1 / std::sqrt(static_cast<double>(width));
  for (const VectorXd* vector :
       {&tensors.query, &tensors.odd_key, &tensors.other_key, &tensors.odd_value, &tensors.other_value}) {
    if (!vector->allFinite()) return tensors;  // the format overflows
  }
  Enclosure difference;
  for (Index i = 0; i < tensors.query.size(); ++i) {
    difference += Enclosure(tensors.query(i)) * (Enclosure(tensors.odd_key(i)) - Enclosure(tensors.other_key(i)));
  }
  tensors.spread = std::max(0.0, (difference * Enclosure(tensors.scale)).upper_double());
  if (tensors.spread > 200) return tensors;  // the theory's functions have their limit there
  tensors.vanishes_from = theory::smallest_vanishing_length({format, tensors.spread, 1, 1, 0});
  Enclosure longest(2);
  for (Index i = 0; i < width; ++i) {
    if (tensors.odd_value(i) == tensors.other_value(i)) continue;
    longest = maximum(longest, theory::smallest_collapsing_length(case_of(tensors, i)));
  }
  tensors.collapses_from = longest;
  return tensors;
}

std::vector<Certificate> certify_collapse(const NetworkCells& network, const CollapseSet& set,
                                          const CollapseTensors& tensors) {
  const std::string claim = "model.collapse." + std::string(numerics::properties(tensors.format).name);
  const std::string witness = describe(set);
  std::vector<Certificate> result;
  if (!tensors.vanishes_from || !tensors.collapses_from) return result;
  result = theory::certify_coefficient_vanishes({tensors.format, tensors.spread, 1, 1, 0}, *tensors.vanishes_from);
  std::optional<Certificate> tightest;
  for (Index i = 0; i < width; ++i) {
    if (tensors.odd_value(i) == tensors.other_value(i)) continue;
    Certificate rounds = theory::certify_output_collapses(case_of(tensors, i), *tensors.collapses_from);
    const bool worse = rounds.verdict != numerics::Verdict::proved;
    if (!tightest || worse || rounds.slack > tightest->slack) tightest = std::move(rounds);
    if (worse) break;
  }
  if (tightest) result.push_back(*tightest);
  const BallMatrix scores = scores_of_values(network, BallMatrix::exactly(tensors.other_value));
  result.push_back(certify_positive(claim, witness, [&] { return least_margin(scores, set.other.class_index); }));
  for (Certificate& certificate : result) {
    certificate.claim = claim;
    certificate.witness = witness + ": " + certificate.witness;
  }
  return result;
}

std::vector<Certificate> certify_kernel_output(const NetworkCells& network, const CollapseSet& set,
                                               const CollapseTensors& tensors, const VectorXd& output, std::uint64_t n,
                                               bool bits_of_other) {
  const std::string claim = "model.collapse." + std::string(numerics::properties(tensors.format).name) + ".kernel";
  const std::string witness = describe(set) + ", n " + std::to_string(n);
  std::vector<Certificate> result{certify_positive(claim, witness, [&] {
    return least_margin(scores_of_values(network, BallMatrix::exactly(output)), set.other.class_index);
  })};
  if (bits_of_other) {
    const auto different = static_cast<int>((output.array() != tensors.other_value.array()).count());
    result.push_back(numerics::certify_less_equal(claim, witness + ": coordinates that differ from b's value", [&] {
      return Sides{Enclosure(different), Enclosure(0)};
    }));
  }
  return result;
}

}  // namespace softcheck::experiments
