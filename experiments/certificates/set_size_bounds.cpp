#include "experiments/certificates/set_size_bounds.hpp"

#include <algorithm>
#include <cmath>

#include "experiments/certificates/logit_bounds.hpp"
#include "numerics/rows/enclosed_row.hpp"
#include "theory/adaptive_temperature.hpp"
#include "theory/corollary_b_1.hpp"
#include "theory/entropy_bounds.hpp"
#include "theory/theorem_2_2.hpp"

namespace softcheck::experiments {

using Eigen::Index;
using numerics::Certificate;
using numerics::Enclosure;
using numerics::Sides;

namespace {

std::string spread_text(double spread) { return "spread " + numerics::hex_float(spread); }

double log10_upper(const Enclosure& log_size) { return (log_size / log(Enclosure(10))).upper_double(); }

// Smallest power of two from which it is certain, where the smallest integer has more digits than enclosures carry.
Enclosure dispersed_length(double spread, double eps) {
  constexpr double longest_exponent = 240;  // smallest_dispersed_length's own
  if (spread <= longest_exponent) return theory::smallest_dispersed_length(spread, 1, eps);
  const numerics::PrecisionScope scope(numerics::precision_ladder.back());
  const Enclosure log_length = theory::log_dispersion_length(Enclosure(spread), Enclosure(1), Enclosure(eps));
  return Enclosure::power_of_two(static_cast<long>((log_length / log(Enclosure(2))).upper_double()) + 1);
}

// Logits of count random items under one random query, as enclosures.
std::vector<std::optional<Enclosure>> drawn_logits(const NetworkCells& network, std::uint64_t count,
                                                   RandomWords& words) {
  std::vector<double> priorities;
  std::vector<int> classes;
  for (std::uint64_t i = 0; i < count; ++i) {
    priorities.push_back(uniform(words));
    classes.push_back(static_cast<int>(uniform_below(words, class_count)));
  }
  CurveCells query = network.queries_folded(points({uniform(words)}));
  query.centre = query.centre.top_rows(width);
  query.slope = query.slope.top_rows(width);
  std::vector<std::optional<Enclosure>> logits;
  constexpr std::uint64_t block = 4096;
  for (std::uint64_t first = 0; first < count; first += block) {
    const auto size = static_cast<std::ptrdiff_t>(std::min(block, count - first));
    const auto at = static_cast<std::ptrdiff_t>(first);
    const CellLogits part =
        bound_cell_logits(network.items(points({priorities.begin() + at, priorities.begin() + at + size}),
                                        {classes.begin() + at, classes.begin() + at + size}),
                          query);
    for (Index i = 0; i < size; ++i) logits.emplace_back(Enclosure::between(part.lower[1](i), part.upper[1](i)));
  }
  return logits;
}

// One query's logits over all classes, by interpolation between nodes of priority.
class LogitTable {
 public:
  LogitTable(Eigen::MatrixXd items, Index nodes) : items_(std::move(items)), nodes_(nodes) {}
  void ask(const Eigen::VectorXd& folded) { logits_ = items_.transpose() * folded; }
  double draw(RandomWords& words) const {
    const double place = static_cast<double>(uniform(words)) * static_cast<double>(nodes_ - 1);
    const auto node = static_cast<Index>(place) + nodes_ * static_cast<Index>(uniform_below(words, class_count));
    const double share = place - std::floor(place);
    return logits_(node) + share * (logits_(node + 1) - logits_(node));
  }

 private:
  Eigen::MatrixXd items_;  // (128, classes * nodes)
  Index nodes_;
  Eigen::VectorXd logits_;
};

}  // namespace

std::uint64_t first_passage(const std::function<double()>& draw, double eps, std::uint64_t longest) {
  double largest = draw(), sum = 1;
  std::uint64_t n = 1;
  for (; n < longest && !(1 / sum < eps); ++n) {
    const double logit = draw();
    sum = logit > largest ? 1 + sum * std::exp(largest - logit) : sum + std::exp(logit - largest);
    largest = std::max(largest, logit);
  }
  return n;
}

CertainSize certify_dispersion_length(double spread, double eps) {
  const Enclosure length = dispersed_length(spread, eps);
  const numerics::PrecisionScope scope(numerics::precision_ladder.back());
  return {numerics::certify_less(
              "model.dispersion_length", spread_text(spread) + " n " + length.to_string(20),
              [&] {
                return Sides{theory::leading_coefficient(length, Enclosure(spread), Enclosure(1)), Enclosure(eps)};
              }),
          log10_upper(log(length))};
}

CertainSize certify_adaptive_identity(double spread) {
  double log10_size = 0;
  {
    const numerics::PrecisionScope scope(numerics::precision_ladder.back());
    log10_size =
        log10_upper(Enclosure::decimal(theory::inactive_from) + theory::largest_entropy_deficit(Enclosure(spread)));
  }
  return {numerics::certify_less_equal("model.adaptive_identity",
                                       spread_text(spread) + " n = 10^" + numerics::hex_float(log10_size),
                                       [&] {
                                         const Enclosure log_size = Enclosure(log10_size) * log(Enclosure(10));
                                         return Sides{Enclosure::decimal(theory::inactive_from),
                                                      log_size - theory::largest_entropy_deficit(Enclosure(spread))};
                                       }),
          log10_size};
}

Certificate certify_entropy_floor(const NetworkCells& network, double spread, std::uint64_t n, std::uint64_t seed) {
  constexpr std::uint64_t longest_drawn = 65536;
  constexpr int sets = 4;
  std::optional<Enclosure> smallest;
  if (n <= longest_drawn) {
    const numerics::PrecisionScope scope(numerics::precision_ladder.front());
    RandomWords words(seed);
    for (int i = 0; i < sets; ++i) {
      const Enclosure entropy = numerics::EnclosedRow(drawn_logits(network, n, words)).entropy();
      smallest = smallest ? minimum(*smallest, entropy) : entropy;
    }
  }
  const std::string witness = spread_text(spread) + " n " + std::to_string(n) + " seed " + std::to_string(seed);
  return numerics::certify_less_equal("model.entropy_floor", witness, [&] {
    return Sides{theory::entropy_floor(n, {spread, 0, 1}), smallest ? *smallest : log(Enclosure::integer(n))};
  });
}

int median_rank(int sets, double confidence) {
  // P(at most r - 1 of the values lie below the median) = sum of binomials / 2^sets.
  double probability = 0;
  for (int r = 0; r < sets; ++r) {
    probability +=
        std::exp(std::lgamma(sets + 1.0) - std::lgamma(r + 1.0) - std::lgamma(sets - r + 1.0) - sets * std::log(2.0));
    if (probability > (1 - confidence) / 2) return r;
  }
  return 0;
}

namespace {

constexpr int sampled_sets = 401;

// The length of each set, none beyond longest; none at all where they would take more items than most_items.
std::optional<std::vector<std::uint64_t>> sampled_lengths(const NetworkCells& network, LogitTable& table, double eps,
                                                          std::uint64_t seed, std::uint64_t longest,
                                                          std::uint64_t most_items) {
  RandomWords words(seed);
  std::vector<std::uint64_t> lengths;
  std::uint64_t items = 0;
  for (int i = 0; i < sampled_sets && items <= most_items; ++i) {
    table.ask(network.queries_folded(points({uniform(words)})).centre.middle.topRows(width));
    lengths.push_back(first_passage([&] { return table.draw(words); }, eps, longest));
    items += lengths.back();
  }
  if (items > most_items) return std::nullopt;
  return lengths;
}

}  // namespace

TypicalLength estimate_typical_length(const NetworkCells& network, double eps, std::uint64_t seed) {
  constexpr int nodes = 256;
  // For a network that hardly disperses every set would reach its longest length, 4 10^8 items. It then gets shorter
  // sets, which also give an "at least".
  constexpr std::uint64_t most_items = std::uint64_t{1} << 24;
  constexpr std::uint64_t long_sets = std::uint64_t{1} << 20, shorter_sets = most_items / 2 / sampled_sets;
  TypicalLength result;
  result.sets = sampled_sets;
  result.longest = long_sets;
  std::vector<double> priorities;
  for (int i = 0; i <= nodes; ++i) priorities.push_back(i / static_cast<double>(nodes));
  LogitTable table(network.items(points(priorities)).centre.middle, nodes + 1);
  std::optional<std::vector<std::uint64_t>> sampled = sampled_lengths(network, table, eps, seed, long_sets, most_items);
  if (!sampled) {
    result.longest = shorter_sets;
    sampled = sampled_lengths(network, table, eps, seed, shorter_sets, most_items);
  }
  std::vector<std::uint64_t>& lengths = *sampled;
  std::ranges::sort(lengths);
  const auto rank = static_cast<std::size_t>(median_rank(result.sets, result.confidence));
  result.median = lengths[lengths.size() / 2];
  result.lower = lengths[rank - 1];
  result.upper = lengths[lengths.size() - rank];
  return result;
}

}  // namespace softcheck::experiments
