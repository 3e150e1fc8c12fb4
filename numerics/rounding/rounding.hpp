#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "numerics/enclosures/enclosure.hpp"
#include "numerics/enclosures/upper_bound.hpp"
#include "numerics/rounding/contract.hpp"
#include "numerics/rows/row_oracle.hpp"

/// A-priori bounds on the rounding errors of softmax kernels, each proved in docs/tolerances.md under the standard
/// model with underflow. Rigorous, not first order; infinite if there is no finite bound. They hold for kernels in
/// which nothing overflows.
///
/// T is UpperBound (quick), or Enclosure (the same formulas, for comparison). Of an Enclosure result only the upper end
/// is a bound; if that is infinite or NaN, there is no finite bound: upper() maps it to infinity.
namespace softcheck::numerics {

/// The quantities of a row that the bounds need, each an upper bound. m is the largest logit, D_i = (m - x_i) / theta.
template <class T>
struct RowStatistics {
  std::uint64_t size = 0;        // n, including masked items
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

/// theta    the oracle's; 1 if the kernel applies none (it decides the number of the argument's roundings)
/// throws   std::invalid_argument if the row is fully masked
template <class T>
RowStatistics<T> row_statistics(const RowOracle& oracle, std::uint64_t rescalings = 0, double theta = 1);

/// R, the rescalings that a contract's kernels may need for a row. For sum=sequential: the records of the running
/// maximum from the front or the back, whichever are more; else the tree's height or the number of distinct logits
/// minus one, whichever is less (a path through the tree has strictly increasing maxima). O(n).
std::uint64_t rescaling_count(const Contract& contract, std::span<const double> logits);

/// All kernels may rescale an online maximum and multiply by 1/S. Vacuity is decided without these grants.
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

/// How far a computed coefficient of an item with this deviation may exceed 1: a sum of nonnegative terms is at least
/// each of them, whatever its height.
template <class T>
T coefficient_excess(const Contract& contract, const RowStatistics<T>& row, const T& deviation);

/// Are numerator and denominator of a softmax sums of the same computed exponentials? No word of a contract promises
/// that: a judge must use `recomputed`.
enum class Exponentials { shared, recomputed };

/// B4: |sum p_hat - 1|, including the output's rounding and underflow of every element.
template <class T>
ScalarThreshold<T> row_sum_error(const Contract& contract, const RowStatistics<T>& row,
                                 Exponentials exponentials = Exponentials::recomputed, Grants grants = Grants::all);

/// B5: the log-sum-exp.
template <class T>
ScalarThreshold<T> logsumexp_error(const Contract& contract, const RowStatistics<T>& row, Grants grants = Grants::all);

/// B5 for x - max - ln S (lse=centred) or x - lse (lse=uncentred). If the exact value exceeds overflow_limit, the
/// result may be infinite.
template <class T>
LinearThreshold<T> log_softmax_error(const Contract& contract, const RowStatistics<T>& row,
                                     Grants grants = Grants::all);

/// Half the largest number of accumulator and output, whichever is less: a larger difference x - max may overflow
/// before the division by a temperature. 8-bit outputs cannot represent such differences.
double overflow_limit(const Contract& contract);

/// The smallest magnitude beyond a format's numbers: the largest one plus half its last place. A real of exactly that
/// magnitude rounds to infinity; in e4m3 it rounds to the largest number, whose last bit is 0.
double infinity_from(Format format);

/// Bound on the error of a result before its rounding to the output, from its threshold: the e in allowed <= e + u
/// (magnitude + e), where u is the output's unit roundoff if it is narrower than the accumulator, else 0.
double error_before_output(const Contract& contract, double allowed, double magnitude);

/// B6: entropy as ln S + T / S with T = sum w D.
template <class T>
ScalarThreshold<T> entropy_error(const Contract& contract, const RowStatistics<T>& row, Grants grants = Grants::all);

/// B7: entropy as m + ln S - T / S with T = sum w x.
template <class T>
ScalarThreshold<T> entropy_uncentred_error(const Contract& contract, const RowStatistics<T>& row,
                                           Grants grants = Grants::all);

/// B6d: entropy as -sum p ln p, or with the paper's ln(p + 1e-9), compared with that form's own exact value.
template <class T>
ScalarThreshold<T> entropy_of_coefficients_error(const Contract& contract, const RowStatistics<T>& row,
                                                 Grants grants = Grants::all);

/// The entropy by the form that the contract names: B6, B7, or for -sum p ln p the larger of B6d and the same with ln p
/// from a log-softmax (lse=).
template <class T>
ScalarThreshold<T> contracted_entropy_error(const Contract& contract, const RowStatistics<T>& row,
                                            Grants grants = Grants::all);

/// How far an entropy ln S + T / S may be below 0: S_hat may be below 1 by the errors of one exponential.
template <class T>
T entropy_undershoot(const Contract& contract, const RowStatistics<T>& row);

/// B8: the weights exp(L_k - L) of a merge of parts by their log-sum-exps, relative; the deviation of part k is L - L_k
/// >= 0.
///
/// parts                number of merged parts
/// part_error           bound on each |computed L_k - L_k| (logsumexp_error of the parts)
/// largest_magnitude    bound on |L_k|, |L|
template <class T>
ElementThreshold<T> merge_by_lse_error(const Contract& contract, std::uint64_t parts, const T& part_error,
                                       const T& largest_magnitude);

/// B10: softmax(beta x), with beta from the entropy of softmax(x) by the paper's polynomial; element threshold in the
/// deviations D_j = beta (m - x_j) of the scaled row. The contract's word entropy= says which entropy is exact; `any`
/// grants the gap between both.
///
/// plain    of the logits themselves
/// scaled   of the logits at temperature 1 / beta, beta exact; its theta is ignored: the argument has the roundings of
///          theta != 1
template <class T>
ElementThreshold<T> adaptive_temperature_error(const Contract& contract, const RowStatistics<T>& plain,
                                               const RowStatistics<T>& scaled, Grants grants = Grants::all);

/// B11: 0 <= H - H_eps <= ln(1 + 1e-9 n), n the number of visible items.
template <class T>
T epsilon_entropy_gap(std::uint64_t visible);

/// The bound as a double; +infinity if there is none.
double upper(const UpperBound& bound);
double upper(const Enclosure& bound);

/// Is a threshold as wide as the value it judges, so that it tests nothing? Compare the relative part (or `rounding`
/// with the value), computed with Grants::none; skip exact zeros and values below the output's smallest normal number.
///
/// rounding    absolute, without the floor
bool is_vacuous(double rounding, double value_magnitude);

}  // namespace softcheck::numerics
