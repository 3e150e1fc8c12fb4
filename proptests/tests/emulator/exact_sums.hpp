#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

// What a row's statistics must be, and how far they may be from it: kernels/block and the strict mode.
namespace softcheck::emulator_tests {

/// What the kernels promise of the entropy of a million items in f32.
inline constexpr long double promised_nats = 1e-6L;

/// Logits that rise slowly up to range: every thread's maximum rises with every group that it reads.
inline std::vector<float> rising_row(std::size_t n, double range) {
  std::vector<float> row;
  for (std::size_t i = 0; i < n; ++i) {
    row.push_back(static_cast<float>(range * static_cast<double>(i) / static_cast<double>(n)));
  }
  return row;
}

/// With D = m - x and w = exp(-D), the sums of w D^k; the first without a maximum's weight.
struct ExactSums {
  template <class T>
  explicit ExactSums(const std::vector<T>& row) : maximum(*std::ranges::max_element(row)) {
    for (const T x : row) {
      const long double d = maximum - x;
      long double term = std::exp(-d);
      for (int k = 0; k < 4; ++k) {
        add(term, k);
        term *= d;
      }
    }
    for (int k = 0; k < 4; ++k) sums[k] += rests[k];
  }

  long double sum() const { return 1 + sums[0]; }
  long double logsumexp() const { return maximum + std::log(sum()); }
  long double entropy() const { return std::log(sum()) + sums[1] / sum(); }

  /// How far the sum of w D^k as computed in T may be, u the unit roundoff: an item's exponential 2 u, its group of
  /// four 2, each power of D 3 (of a power that a rise gives: the sum that is told, d, the product), the result 2. Its
  /// argument u D. Rises: one by d loses u d for its argument and less than 2 u d of its factor, whose value and rest
  /// leave out what rounds in the tail of the exponential alone, |tail| about |r| <= min(d, ln(2) / 2), r itself, r and
  /// r^2 q; they add up to 3 u D. Compensated sums and products, and all else of second order, are u^2 for each of the
  /// rises and groups, n / 512: up to n = 2^20 a part in 1000.
  template <class T>
  long double allowed(int k) const {
    const long double total = k == 0 ? sum() : sums[k];
    return 1.001L * unit<T> * ((6 + 3 * k) * total + 3 * sums[k + 1]);
  }

  /// B5 in docs/tolerances.md: of m + ln S, the logarithm wrong by 2 u.
  template <class T>
  long double allowed_of_logsumexp() const {
    return allowed<T>(0) / sum() + 1.001L * unit<T> * (2 * std::log(sum()) + std::abs(logsumexp()));
  }

  template <class T>
  static constexpr long double unit = std::numeric_limits<T>::epsilon() / 2.0L;

  long double maximum, sums[4] = {-1, 0, 0, 0};

 private:
  /// Sums of numbers in f64 must not round a million times in a format eleven bits longer: each addition's rest is
  /// kept.
  void add(long double term, int k) {
    const long double before = sums[k];
    sums[k] += term;
    const long double added = sums[k] - before;
    rests[k] += (before - (sums[k] - added)) + (term - added);
  }
  long double rests[4] = {0, 0, 0, 0};
};

}  // namespace softcheck::emulator_tests
