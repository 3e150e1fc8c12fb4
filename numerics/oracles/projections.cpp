#include "numerics/oracles/projections.hpp"

#include <algorithm>
#include <cmath>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "numerics/enclosures/decision.hpp"
#include "numerics/oracles/exact_sum.hpp"

namespace softcheck::numerics {
namespace {

double largest_logit(const char* oracle, std::span<const double> logits) {
  const auto need = [&](const char* what) { return std::invalid_argument(std::string(oracle) + ": need " + what); };
  double maximum = -INFINITY;
  for (const double x : logits) {
    if (std::isnan(x) || x == INFINITY) throw need("logits that are finite or -inf");
    maximum = std::max(maximum, x);
  }
  if (std::isinf(maximum)) throw need("a visible item, got none");
  return maximum;
}

// The visible logits that may have a coefficient: scale D <= 1, by a difference of doubles rounded outward.
std::vector<double> candidates(std::span<const double> logits, double maximum, double scale) {
  std::vector<double> near;
  for (const double x : logits) {
    if (std::isfinite(x) && (scale * maximum - scale * x) * (1 - 0x1p-52) <= 1) near.push_back(x);
  }
  return near;
}

// Leaves out items whose D exceeds the quotient of all items, since the quotient of any items is at least the top. Sums
// of fewer than 2^32 doubles err by less than 2^-20.
void leave_out_far_ones(std::vector<double>& near, double maximum) {
  for (int round = 0; round < 4; ++round) {
    double sum = 1;
    for (const double x : near) sum += maximum - x;
    const double limit = sum / static_cast<double>(near.size()) * (1 + 0x1p-20);
    if (std::erase_if(near, [&](double x) { return maximum - x > limit; }) == 0) return;
  }
}

// The minimum of the quotients that may be it, from exact sums; nothing if two doubles cannot represent a sum.
std::optional<Enclosure> top_of_exact_sums(std::span<const double> descending, double maximum) {
  Enclosure top(1);
  ExactSum sum;
  sum.add(1);
  std::size_t k = 0;
  for (; k < descending.size(); ++k) {
    // The quotient decreases as long as k D < 1 + D_(1) + ... + D_(k); each side has a few roundings.
    const double next = static_cast<double>(k) * (maximum - descending[k]), all = sum.nearest();
    if (next * (1 - 0x1p-48) > all) break;
    if (next * (1 + 0x1p-48) >= all) {
      const Enclosure deviation = Enclosure(maximum) - Enclosure(descending[k]);
      const Decision falls = less(Enclosure::integer(k) * deviation, sum.value());
      if (falls == Decision::violated) break;
      if (falls == Decision::undecided) top = minimum(top, sum.value() / Enclosure::integer(k));
    }
    sum.add_difference(maximum, descending[k]);
    if (!sum.is_exact()) return std::nullopt;
  }
  return minimum(top, sum.value() / Enclosure::integer(k));
}

Enclosure half_of(double maximum, double x) { return (Enclosure(maximum) - Enclosure(x)) / 2; }

// The candidates, in descending order.
std::vector<double> near_the_largest(std::span<const double> logits, double maximum) {
  std::vector<double> near = candidates(logits, maximum, 0.5);
  std::ranges::sort(near, std::greater<>());
  return near;
}

// The first k items.
struct Support {
  Enclosure count{0}, sum{0}, squares{0};

  void add(const Enclosure& d, const Enclosure& times) {
    count += times;
    sum += times * d;
    squares += times * square(d);
  }
  // (d - d_(1))^2 + ... + (d - d_(k))^2.
  Enclosure squares_from(const Enclosure& d) const { return count * square(d) - 2 * (d * sum) + squares; }
  // At least 1 / k^2 for a support, since its roots sum to at least as much as their squares.
  Enclosure top() const {
    const Enclosure mean = sum / count;
    return mean + sqrt(maximum(Enclosure(0), (1 - squares + sum * mean) / count));
  }
};

}  // namespace

SparsemaxOracle::SparsemaxOracle(std::span<const double> logits)
    : logits_(logits), maximum_(largest_logit("SparsemaxOracle", logits)), top_(1) {
  std::vector<double> near = candidates(logits, maximum_, 1);
  leave_out_far_ones(near, maximum_);
  std::ranges::sort(near, std::greater<>());
  if (const auto top = top_of_exact_sums(near, maximum_)) {
    top_ = *top;
    return;
  }
  const Enclosure largest(maximum_);
  Enclosure sum(1);
  for (std::size_t k = 0; k < near.size(); ++k) {
    sum += largest - Enclosure(near[k]);
    top_ = minimum(top_, sum / Enclosure::integer(k + 1));
  }
}

Enclosure SparsemaxOracle::deviation(std::size_t i) const { return Enclosure(maximum_) - Enclosure(logits_[i]); }

Enclosure SparsemaxOracle::value(std::size_t i) const {
  if (std::isinf(logits_[i])) return Enclosure(0);
  return numerics::maximum(Enclosure(0), top_ - deviation(i));
}

Enclosure sparsemax_top_by_elimination(std::span<const double> logits) {
  const Enclosure largest(largest_logit("SparsemaxOracle", logits));
  std::vector<double> kept = candidates(logits, largest.midpoint(), 1);
  while (true) {
    Enclosure sum(1);
    for (const double x : kept) sum += largest - Enclosure(x);
    const Enclosure top = sum / Enclosure::integer(kept.size());
    // The quotient of these items is at least the top: items with a larger D have coefficient 0.
    const auto beyond = std::remove_if(kept.begin(), kept.end(), [&](double x) {
      return less_equal(top, largest - Enclosure(x)) == Decision::proved;
    });
    if (beyond == kept.end()) return top;
    kept.erase(beyond, kept.end());
  }
}

RootProjectionOracle::RootProjectionOracle(std::span<const double> logits)
    : logits_(logits), maximum_(largest_logit("RootProjectionOracle", logits)), top_(1) {
  const std::vector<double> near = near_the_largest(logits, maximum_);
  Support support;
  std::optional<Enclosure> tops;  // of the supports that may be it
  for (std::size_t i = 0; i < near.size();) {
    std::size_t next = i + 1;
    while (next < near.size() && near[next] == near[i]) ++next;
    const Enclosure d = half_of(maximum_, near[i]);
    const Decision inside = i == 0 ? Decision::proved : less(support.squares_from(d), Enclosure(1));
    if (inside == Decision::violated) break;
    if (inside == Decision::undecided) tops = tops ? hull(*tops, support.top()) : support.top();
    support.add(d, Enclosure::integer(next - i));
    i = next;
  }
  top_ = tops ? hull(*tops, support.top()) : support.top();
}

Enclosure RootProjectionOracle::half_deviation(std::size_t i) const { return half_of(maximum_, logits_[i]); }

Enclosure RootProjectionOracle::value(std::size_t i) const {
  if (std::isinf(logits_[i])) return Enclosure(0);
  return square(numerics::maximum(Enclosure(0), top_ - half_deviation(i)));
}

Enclosure root_projection_top_by_bisection(std::span<const double> logits) {
  const double largest = largest_logit("RootProjectionOracle", logits);
  const std::vector<double> near = near_the_largest(logits, largest);
  Enclosure low(0), high(1);
  for (unsigned step = 0; step < working_precision(); ++step) {
    const Enclosure middle = (low + high) / 2;
    Enclosure sum(0);
    for (const double x : near) sum += square(maximum(Enclosure(0), middle - half_of(largest, x)));
    const Decision below = less(sum, Enclosure(1));
    if (below == Decision::undecided) break;
    (below == Decision::proved ? low : high) = middle;
  }
  return hull(low, high);
}

}  // namespace softcheck::numerics
