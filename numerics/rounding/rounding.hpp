#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "numerics/enclosures/enclosure.hpp"
#include "numerics/enclosures/upper_bound.hpp"
#include "numerics/rounding/contract.hpp"
#include "numerics/rows/row_oracle.hpp"

/// A-priori bounds on the rounding errors of softmax kernels, each proved in docs/tolerances.md under the standard
/// model with underflow. Rigorous, not first order, and infinite where there is no finite bound. No kernel is granted
/// an overflow: the bounds hold for a kernel in which nothing overflows.
///
/// T is UpperBound (quick) or Enclosure (the same formulas, to be compared with). In an Enclosure result only the upper
/// end is a bound; an infinite bound is one whose upper end is infinite or not a number: upper() maps it to infinity.
namespace softcheck::numerics {

/// The quantities of a row that the bounds need, each an upper bound. With m the largest logit and D_i = (m - x_i) /
/// theta.
template <class T>
struct RowStatistics {
  std::uint64_t size = 0;        // n, masked items counted
  std::uint64_t visible = 0;     // >= 1
  std::uint64_t rescalings = 0;  // R: strict increases of the running maximum on the longest path (rescaling_count)
  double theta = 1;              // exactly
  T log_sum{};                   // ln S
  T mean_deviation{};            // Dbar = sum p_i D_i
  T mean_square_deviation{};     // V2 = sum p_i D_i^2
  T maximum_magnitude{};         // |m| / theta
  T largest_magnitude{};         // max |x_i| / theta over the visible items
  T logsumexp_magnitude{};       // |m / theta + ln S|
};

/// theta    of the oracle; 1 where the kernel applies none (it decides how many roundings the argument is granted)
/// throws   std::invalid_argument when the row is fully masked
template <class T>
RowStatistics<T> row_statistics(const RowOracle& oracle, std::uint64_t rescalings = 0, double theta = 1);

/// R that a contract's kernels may need for a row: for sum=sequential the records of the running maximum, from the
/// front or from the back, whichever are more; else the height of the tree or the number of distinct logits less one,
/// whichever is less (any path through the tree sees a strictly increasing chain). O(n).
std::uint64_t rescaling_count(const Contract& contract, std::span<const double> logits);

/// Every kernel is granted the rescalings of an online maximum and a multiplication by 1/S. Whether a threshold
/// is vacuous is decided without them.
enum class Grants { all, none };

/// Relative threshold of an element: |computed - p_j| <= (constant + slope * D_j) * p_j + floor.
template <class T>
struct ElementThreshold {
  T constant{};
  T slope{};
  T floor{};  // results that underflow, in accumulator or output

  T relative(const T& deviation) const { return constant + slope * deviation; }
  T at(const T& deviation, const T& coefficient) const { return relative(deviation) * coefficient + floor; }
};

/// Absolute threshold of an element: |computed - value_j| <= constant + slope * D_j + floor.
template <class T>
struct LinearThreshold {
  T constant{};
  T slope{};
  T floor{};

  T rounding(const T& deviation) const { return constant + slope * deviation; }
  T at(const T& deviation) const { return rounding(deviation) + floor; }
};

/// Absolute threshold of a scalar: |computed - value| <= rounding + floor.
template <class T>
struct ScalarThreshold {
  T rounding{};
  T floor{};

  T total() const { return rounding + floor; }
};

/// B1: |S_hat - S| / S.
template <class T>
T sum_error(const Contract& contract, const RowStatistics<T>& row, Grants grants = Grants::all);

/// B2: softmax, each coefficient.
template <class T>
ElementThreshold<T> softmax_error(const Contract& contract, const RowStatistics<T>& row, Grants grants = Grants::all);

/// B3: sum |p_hat - p|.
template <class T>
T total_variation_error(const Contract& contract, const RowStatistics<T>& row, Grants grants = Grants::all);

/// By how much a computed coefficient of an item with that deviation may exceed 1: no sum of nonnegative terms is less
/// than one of them, whatever its height.
template <class T>
T coefficient_excess(const Contract& contract, const RowStatistics<T>& row, const T& deviation);

/// Whether numerator and denominator of a softmax are sums of the very same computed exponentials. No word of a
/// contract promises it: a judge must use `recomputed`.
enum class Exponentials { shared, recomputed };

/// B4: |sum p_hat - 1|, the output's rounding and underflow of every element included.
template <class T>
ScalarThreshold<T> row_sum_error(const Contract& contract, const RowStatistics<T>& row,
                                 Exponentials exponentials = Exponentials::recomputed, Grants grants = Grants::all);

/// B5: the log-sum-exp.
template <class T>
ScalarThreshold<T> logsumexp_error(const Contract& contract, const RowStatistics<T>& row, Grants grants = Grants::all);

/// B5 for x - max - ln S (lse=centred) or x - lse (lse=uncentred). Where the exact value is beyond overflow_limit, the
/// result may be infinite.
template <class T>
LinearThreshold<T> log_softmax_error(const Contract& contract, const RowStatistics<T>& row,
                                     Grants grants = Grants::all);

/// Half the largest number of accumulator and output, whichever is less: from there on a difference x - max may
/// overflow before it is divided by a temperature. An output of 8 bits holds no such difference.
double overflow_limit(const Contract& contract);

/// The magnitude from which on a real is beyond the numbers of a format: the largest one and half of its last place. A
/// real of that magnitude itself rounds to infinity; in e4m3 it rounds to the largest number, whose last bit is 0.
double infinity_from(Format format);

/// Bound on the error of a result before it was rounded to the output's format, from its threshold: what is left of
/// allowed <= e + u (magnitude + e), u the output's unit roundoff where it is narrower than the accumulator, else 0.
double error_before_output(const Contract& contract, double allowed, double magnitude);

/// B6: entropy as ln S + T / S with T = sum w D.
template <class T>
ScalarThreshold<T> entropy_error(const Contract& contract, const RowStatistics<T>& row, Grants grants = Grants::all);

/// B7: entropy as m + ln S - T / S with T = sum w x.
template <class T>
ScalarThreshold<T> entropy_uncentred_error(const Contract& contract, const RowStatistics<T>& row,
                                           Grants grants = Grants::all);

/// B6d: entropy as -sum p ln p, or with the paper's ln(p + 1e-9) against that form's own exact value.
template <class T>
ScalarThreshold<T> entropy_of_coefficients_error(const Contract& contract, const RowStatistics<T>& row,
                                                 Grants grants = Grants::all);

/// An entropy as the contract's entropy_from= has it made: B6, B7, or for -sum p ln p the wider of B6d and the same
/// with ln p from a log-softmax (lse=).
template <class T>
ScalarThreshold<T> contracted_entropy_error(const Contract& contract, const RowStatistics<T>& row,
                                            Grants grants = Grants::all);

/// By how much an entropy ln S + T / S may come out below 0: S_hat may lie below 1 by the errors of one exponential.
template <class T>
T entropy_undershoot(const Contract& contract, const RowStatistics<T>& row);

/// B8: weights exp(L_k - L) of a merge of parts by their log-sum-exp values, relative; the deviation of part k is
/// L - L_k >= 0.
///
/// parts                number of parts merged
/// part_error           bound on each |computed L_k - L_k| (logsumexp_error of the parts)
/// largest_magnitude    bound on |L_k|, |L|
template <class T>
ElementThreshold<T> merge_by_lse_error(const Contract& contract, std::uint64_t parts, const T& part_error,
                                       const T& largest_magnitude);

/// B10: softmax(beta x), beta from the entropy of softmax(x) by the paper's polynomial; element threshold in the
/// deviations D_j = beta (m - x_j) of the scaled row. The contract's entropy word tells which entropy is exact: with
/// `any` the gap between the two forms is granted.
///
/// plain    of the logits themselves
/// scaled   of the logits at temperature 1 / beta, beta exact; its theta is not used: the argument is granted the
///          roundings of theta != 1
template <class T>
ElementThreshold<T> adaptive_temperature_error(const Contract& contract, const RowStatistics<T>& plain,
                                               const RowStatistics<T>& scaled, Grants grants = Grants::all);

/// B11: 0 <= H - H_eps <= ln(1 + 1e-9 n), n items that are visible.
template <class T>
T epsilon_entropy_gap(std::uint64_t visible);

/// The bound as a double: +infinity where there is none.
double upper(const UpperBound& bound);
double upper(const Enclosure& bound);

/// A threshold at least as wide as the value it judges does not test the value. Compare the relative part (or
/// `rounding` with the value), computed with Grants::none; skip exact zeros and values below the output's smallest
/// normal number.
///
/// rounding    absolute, without the floor
bool is_vacuous(double rounding, double value_magnitude);

}  // namespace softcheck::numerics
