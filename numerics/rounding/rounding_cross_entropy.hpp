#pragma once

#include <cstdint>
#include <span>

#include "numerics/rounding/rounding_model.hpp"

/// B14 and B15: cross-entropy and its gradient. Proofs: docs/tolerances/cross_entropy.md.
namespace softcheck::numerics {

/// The attributes of a cross-entropy; zero is off.
struct CrossEntropyOptions {
  double label_smoothing = 0;  // s in [0, 1]
  double z_loss = 0;           // z >= 0, finite
  double softcap = 0;          // c >= 0, finite
  bool summed = false;         // the mean over the classes is a sum, as with a probability of each class for w
  double theta = 1;            // x = logits / theta, > 0, finite; 1 with a softcap
  double tanh_error = 2;       // of a computed tanh, in units of u; 1 ulp = 2 u
  double logit_error = 0;      // how far each logit that the kernel takes may be from the exact one
};

/// throws   std::invalid_argument with the option that is out of range
void require_options(const CrossEntropyOptions& options);

/// How far a kernel's capped logit may be from c tanh(logit / c), for any logit; 0 without a softcap.
double softcap_error(const Contract& contract, const CrossEntropyOptions& options);

/// rescaling_count of the capped logits, where near-ties may fall either way: for sum=sequential counts the items that
/// may exceed all earlier ones, as in B9.
std::uint64_t cross_entropy_rescalings(const Contract& contract, const CrossEntropyOptions& options,
                                       std::span<const double> logits);

/// The quantities of a row that the bounds need, each an upper bound. x are the capped logits.
template <class T>
struct CrossEntropyRow {
  RowStatistics<T> statistics;  // of x
  T target_deviation{};         // D_y = m - x_y
  T target_weight{1};           // w_y
  bool weighted = false;        // are there class weights?
  T mean_weight{1};             // of w over the V classes
  T mean_deviation{};           // of w (m - x); used if s > 0
  T mean_magnitude{};           // of w |x|; used if s > 0
  T loss_magnitude{};           // |loss|
};

/// B14: |computed loss - loss| of one row. Allowed: L - x_y as in B5 (lse=); with label smoothing the mean of the
/// log-probabilities, or L minus the mean of the logits; the z-loss from the computed L; any order of the terms.
///
/// contract   acc, exp, sum, subnormal, lse, weights, total, input (of the logits), output
template <class T>
ScalarThreshold<T> cross_entropy_error(const Contract& contract, const CrossEntropyOptions& options,
                                       const CrossEntropyRow<T>& row, Grants grants = Grants::all);

/// |computed mean - mean| (or sum) of the losses of many rows, each computed in the accumulator.
///
/// rows        number of rows with a label that is not ignored, >= 1
/// magnitude   sum of |loss_i|
/// error       sum of the rows' thresholds (total())
/// divisor     a double not above the divisor of the sum: the number of rows, the sum of their weights, or 1
/// weighted    is the divisor itself a computed sum?
template <class T>
ScalarThreshold<T> cross_entropy_mean_error(const Contract& contract, std::uint64_t rows, const T& magnitude,
                                            const T& error, double divisor, bool weighted);

/// |count_hat / count - 1| for a count that is rounded to the accumulator before it divides; 0 if the accumulator can
/// represent it.
template <class T>
T cross_entropy_count_error(const Contract& contract, std::uint64_t count);

/// For the gradient of a mean: |w_hat / w - 1|, w = upstream / divisor, beyond the quotient and the product in B15.
/// Allowed: a reciprocal; the divisor as the number of rows, or weighted as a computed sum of their weights.
///
/// rows   number of rows with a label that is not ignored, >= 1
template <class T>
T cross_entropy_divisor_error(const Contract& contract, std::uint64_t rows, bool weighted);

/// One class of a row, each an upper bound.
template <class T>
struct CrossEntropyElement {
  T coefficient{};  // p_j
  T deviation{};    // D_j = m - x_j; 0 for a masked class
  T subtrahend{};   // b_j
  T difference{};   // |alpha p_j - b_j|
  T cap_slope{1};   // 1 - tanh^2
  T cap_square{};   // tanh^2
};

/// B15: |computed dx_j - dx_j|. Allowed: p as in B2, with lse=uncentred also e^(x - L); alpha p - b with or without the
/// factor alpha; the product with upstream, a quotient of two exact numbers, after or before the softcap's slope or,
/// unless there is only a hard label, with each addend of alpha p - b.
///
/// contract   as for cross_entropy_error
template <class T>
class CrossEntropyGradientThreshold {
 public:
  /// upstream   an upper bound of the exact |upstream / theta|
  /// divided    >= 1: the factor by which a final division multiplies the underflow losses of earlier products
  CrossEntropyGradientThreshold(const Contract& contract, const CrossEntropyOptions& options,
                                const CrossEntropyRow<T>& row, const T& upstream, Grants grants = Grants::all,
                                const T& divided = T(1));

  ScalarThreshold<T> element(const CrossEntropyElement<T>& element) const;

 private:
  /// e^log - 1 and e^log for a log error that all items share, computed once: an exponential costs as much as ten sums.
  struct Growth {
    T more{}, factor{};
    static Growth of(const T& log);
    // e^log (magnitude + error) - magnitude.
    T error(const T& magnitude, const T& error) const { return more * magnitude + factor * error; }
  };
  T times_upstream(const T& value, const T& error, const T& lost) const;
  T addends_lost(const CrossEntropyElement<T>& element, const T& off) const;

  CrossEntropyOptions options_;
  OperationModel<T> model_;
  T upstream_;
  T late_product_, late_sum_;        // underflow loss of an operation after upstream, divided or not
  bool plain_;                       // only a hard label
  ElementThreshold<T> coefficient_;  // of p
  ElementThreshold<T> power_;        // of p as e^(log-probability)
  T logit_error_;                    // max |x_hat - x| with a softcap
  T factor_;                         // (1 - s) w_y + s mean(w) + 2 z |L|
  T factor_error_;                   // 2 z E_L
  Growth terms_;                     // of a term of alpha p - b
  Growth upstream_terms_;            // the same, and of upstream
  Growth one_, two_;                 // roundings
  Growth moved_;                     // of p after a cap
  T square_error_;                   // of tanh^2, relative
  T classes_, target_weight_;        // V and w_y
  T weights_sum_;                    // an upper bound of sum w
  T addend_factors_;                 // of alpha's addends: how often a product with upstream may lose omega_m
};

}  // namespace softcheck::numerics
