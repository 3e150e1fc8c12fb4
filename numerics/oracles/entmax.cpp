#include "numerics/oracles/entmax.hpp"

#include <algorithm>
#include <cmath>
#include <optional>
#include <stdexcept>
#include <vector>

#include "numerics/enclosures/decision.hpp"

namespace softcheck::numerics {
namespace {

double largest_of(std::span<const double> logits) {
  double maximum = -INFINITY;
  for (const double x : logits) {
    if (std::isnan(x) || x == INFINITY)
      throw std::invalid_argument("EntmaxOracle: need logits that are finite or -inf");
    maximum = std::max(maximum, x);
  }
  if (std::isinf(maximum)) throw std::invalid_argument("EntmaxOracle: need a visible item, got none");
  return maximum;
}

Enclosure half_of(double maximum, double x) { return (Enclosure(maximum) - Enclosure(x)) / 2; }

// The visible logits that may have a coefficient, in descending order: d <= 1, by a difference of doubles rounded
// outward.
std::vector<double> near_the_largest(std::span<const double> logits, double maximum) {
  std::vector<double> near;
  for (const double x : logits) {
    if (std::isfinite(x) && (maximum / 2 - x / 2) * (1 - 0x1p-52) <= 1) near.push_back(x);
  }
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

EntmaxOracle::EntmaxOracle(std::span<const double> logits) : logits_(logits), maximum_(largest_of(logits)), top_(1) {
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

Enclosure EntmaxOracle::half_deviation(std::size_t i) const { return half_of(maximum_, logits_[i]); }

Enclosure EntmaxOracle::value(std::size_t i) const {
  if (std::isinf(logits_[i])) return Enclosure(0);
  return square(numerics::maximum(Enclosure(0), top_ - half_deviation(i)));
}

Enclosure entmax_top_by_bisection(std::span<const double> logits) {
  const double largest = largest_of(logits);
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
