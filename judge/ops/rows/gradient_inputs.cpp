#include "judge/ops/rows/gradient_inputs.hpp"

#include <algorithm>
#include <cmath>

#include "numerics/formats/next_double.hpp"
#include "numerics/formats/special_values.hpp"
#include "proptests/generators/rows/row_families.hpp"

namespace softcheck::proptests {
namespace {

using numerics::Format;
using numerics::round_to;

// m and ln S of finite logits in double arithmetic: the judge accepts any saved output as an input.
struct LogSum {
  double maximum = 0;
  double logarithm = 0;
};

// Applies `of` to each item, once per run of equal items: rows have long runs.
template <class Function>
std::vector<double> of_each(std::span<const double> items, const Function& of) {
  std::vector<double> values;
  values.reserve(items.size());
  for (std::size_t i = 0; i < items.size(); ++i) {
    values.push_back(i > 0 && items[i] == items[i - 1] ? values.back() : of(items[i]));
  }
  return values;
}

LogSum log_sum_of(std::span<const double> logits) {
  LogSum result;
  result.maximum = logits.empty() ? 0 : *std::ranges::max_element(logits);
  double sum = 0;
  for (const double e : of_each(logits, [&](double x) { return std::exp(x - result.maximum); })) sum += e;
  result.logarithm = std::log(sum);
  return result;
}

}  // namespace

// SplitMix64's mixing function (Steele, Lea, Flood 2014).
std::uint64_t hashed(std::uint64_t number, std::uint64_t item) {
  std::uint64_t z = number * 0x9e3779b97f4a7c15u + item * 0xd1b54a32d192ed03u;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

double signed_unit(std::uint64_t bits) { return static_cast<double>(static_cast<std::int64_t>(bits)) * 0x1p-63; }

std::vector<double> saved_softmax(Format format, std::span<const double> logits, std::uint64_t auxiliary) {
  static constexpr double factors[] = {1, 1, 0.75, 1.5};
  const LogSum sum = log_sum_of(logits);
  // A fully masked row may have been saved as zeros.
  const double factor = hashed(auxiliary, 1) % 16 == 0 ? 0 : factors[auxiliary / 16 % 4];
  return of_each(logits,
                 [&](double x) { return round_to(format, factor * std::exp(x - sum.maximum - sum.logarithm)); });
}

std::vector<double> saved_log_softmax(Format format, std::span<const double> logits, std::uint64_t auxiliary) {
  const numerics::FormatProperties& facts = numerics::properties(format);
  const double shift = (auxiliary & shifted_bit) == 0 ? 0 : (auxiliary & hidden_items_bit) == 0 ? -0.5 : 0.25;
  const LogSum sum = log_sum_of(logits);
  std::vector<double> y;
  y.reserve(logits.size());
  for (const double x : logits) {
    const double value = x - sum.maximum - sum.logarithm + shift;
    y.push_back(round_to(format, std::max(value, -facts.largest)));
  }
  // At the end of the row, as in a padded row; or scattered, as in a sparse one.
  constexpr std::size_t few = 64;
  const bool hides = (auxiliary & hidden_items_bit) != 0 && facts.has_infinity;
  const std::size_t n = y.size();
  for (std::size_t i = 0; hides && i < n; ++i) {
    const bool hidden = auxiliary / 64 % 2 == 0 ? i >= n - n / 4 : n <= few && hashed(auxiliary, i) % 4 == 0;
    if (hidden) y[i] = -numerics::infinity;
  }
  return y;
}

numerics::UpperBound LongSum::size() const {
  const auto above = static_cast<double>((std::fabs(value) + error()) * (1 + 0x1p-50L));
  return numerics::UpperBound(numerics::next_above(above));
}

LongSum long_sum(std::span<const double> a, std::span<const double> b) {
  // Neumaier's sum: each product errs by 2^-64 of itself, the sum by 2^-64 of itself and n^2 2^-126 of the magnitudes.
  LongSum sum;
  long double rest = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const long double term = b.empty() ? a[i] : static_cast<long double>(a[i]) * b[i];
    const long double next = sum.value + term;
    rest += std::fabs(sum.value) >= std::fabs(term) ? (sum.value - next) + term : (term - next) + sum.value;
    sum.value = next;
    const numerics::UpperBound first(std::fabs(a[i]));
    sum.magnitude = sum.magnitude + (b.empty() ? first : first * numerics::UpperBound(std::fabs(b[i])));
  }
  sum.value += rest;
  return sum;
}

double largest_magnitude_of(std::span<const double> numbers) {
  double largest = 0;
  for (const double number : numbers) largest = std::fmax(largest, std::fabs(number));
  return largest;
}

std::vector<double> upstream_gradient(Format format, std::size_t n, std::uint64_t auxiliary) {
  const std::uint64_t seed = auxiliary / 64;
  const std::size_t place = n == 0 ? 0 : seed % n;
  // f16 ends at 65504, so bound the large item by the format. Odd seeds use a quarter of the format's range: with a
  // saved softmax that sums to 1.5, neither the mean nor a difference overflows there, nor do the judge's own doubles.
  const numerics::FormatProperties& facts = numerics::properties(format);
  const double most = std::min(facts.largest, 0x1p+1000);
  const double large = seed % 2 == 0 ? std::min(1e6, most / 4) : most / 4;
  const auto value = [&](std::size_t i) -> double {
    const std::uint64_t bits = hashed(auxiliary, i);
    switch (auxiliary % 16) {
      case 0:  // one item
        return i == place ? 1 : 0;
      case alike_upstream:
        return 1;
      case 2:  // a mean over many rows
        return 1e-3 * signed_unit(bits);
      case 3:
        return i % 2 == 0 ? 1 : -1;
      case 4:  // 24 binades
        return std::ldexp(signed_unit(bits), static_cast<int>(bits % 25) - 12);
      case 5:  // the differences from the mean occupy only the last places
        return 1 + 0x1p-8 * signed_unit(bits);
      case 6:
        return i == place ? large : signed_unit(bits);
      case 7:
        return i == place ? 0 : -1;
      case 9:  // near the smallest normal numbers
        return std::fmin(std::ldexp(facts.smallest_normal, static_cast<int>(bits % 25)), 1) * signed_unit(bits);
      case 10:  // y y g exceeds half the largest number; with y scaled by 1.5 a smaller factor does
        return i == place ? (auxiliary / 16 % 4 == 3 ? 0.25 : 0.625) * most : signed_unit(bits);
      default:
        return 4 * signed_unit(bits);
    }
  };
  std::vector<double> g;
  g.reserve(n);
  for (std::size_t i = 0; i < n; ++i) g.push_back(into_format(format, value(i)));
  return g;
}

}  // namespace softcheck::proptests
