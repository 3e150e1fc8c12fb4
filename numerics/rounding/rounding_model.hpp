#pragma once

#include "numerics/rounding/rounding_operations.hpp"
#include "numerics/rounding/theorem_bounds.hpp"

namespace softcheck::numerics {

/// The effect of adaptive temperature on a row (B10): the largest error of the computed beta, and the row at that beta.
template <class T>
struct TemperatureError {
  T tau;                   // >= |computed beta - beta|; since beta >= 1, also a relative error
  T mean;                  // Dbar' >= the mean deviation at any beta within tau
  RowStatistics<T> moved;  // of the logits times the computed beta
  Contract granted;        // the contract with the additional roundings of the multiplied argument
};

/// more_entropy   the error of the entropy that attention's score errors cause
template <class T>
TemperatureError<T> temperature_error(const Contract& contract, const RowStatistics<T>& plain,
                                      const RowStatistics<T>& scaled, const T& more_entropy, Grants grants);

/// The quantities that all bounds share, for one contract and row; notation of docs/tolerances.md, "The model".
///
/// The bounds are the theorems' formulas, as Coq prints them (theorem_bounds.hpp); this class maps a contract and a row
/// to their quantities. Errors of positive quantities are measured as |ln(computed / exact)|, so factors add for any
/// number of roundings.
template <class T>
struct RoundingModel : OperationModel<T> {
  RoundingModel(const Contract& contract, const RowStatistics<T>& row, Grants grants);

  using Operations = OperationModel<T>;
  using Operations::exp_cutoff;
  using Operations::exp_floor;
  using Operations::exp_unit;
  using Operations::largest;
  using Operations::log_roundoff;
  using Operations::output_floor;
  using Operations::output_roundoff;
  using Operations::output_unit;
  using Operations::product_floor;
  using Operations::roundoff;
  using Operations::sum_floor;
  using Operations::unit;

  // Exponentials and their sum as stored by weights= and total=.
  T item_unit;   // lambda_E + lambda_w
  T item_floor;  // of a stored exponential
  T total_unit;  // lambda_S

  // The argument -D of the exponential.
  double argument_steps = 1;  // A': roundings of the argument
  T argument_unit;            // A' lambda, of D as a factor
  T slope;                    // t = e^(A' lambda) - 1: the argument errs by t D
  T scaling;                  // of x / theta or m / theta
  T argument_floor;           // c: absolute error of the argument

  // The row.
  T visible;       // n
  T height;        // h lambda
  T rescale_unit;  // R (lambda_E + lambda)
  T rescalings;    // R
  bool rescaled = false;
  bool reciprocal = false;
  formulas::Quantities<T> quantities;
  formulas::SumBounds<T> sums;  // B1, and the following
  T second;                     // bounds sum p D^2 e^(t D) / M(t)
  T third;                      // bounds sum p D^3 e^(t D) / M(t)
  T shift;                      // mu >= ln M(t), M(t) = sum p e^(t D)
  // sum p D e^(t D) - Dbar <= first_excess: t V2 + t^2/2 e^mu third.
  T first_excess;
  T sum_loss;  // n times an item's underflow loss, in units of S
  T sum_log;   // sigma >= |ln(S_hat / S)|, underflow included
  T quotient;  // of a division by S, or of a product with 1 / S, which may be subnormal

  /// The element threshold of e^x - 1: relative e^(constant + rate D) - 1, bounded by its chord, and a floor.
  ElementThreshold<T> element(const T& constant, const T& rate, const T& floor) const;
  formulas::ElementBounds<T> element_bounds() const { return {quantities, sums}; }
  formulas::LogarithmBounds<T> logarithm_bounds() const { return {quantities, sums}; }
  formulas::MomentBounds<T> moment_bounds() const { return {quantities, sums}; }
  formulas::UncentredMomentBounds<T> uncentred_moment_bounds() const { return {quantities, sums}; }

 private:
  void set_stored(const Contract& contract);
  void set_argument(const Contract& contract, const RowStatistics<T>& row);
  void set_scaled_logits(const Contract& contract, const RowStatistics<T>& row);
  void set_quantities(const Contract& contract, const RowStatistics<T>& row);
  void keep_to_theorems();
  void set_row(const Contract& contract, const RowStatistics<T>& row);
  void set_quotient(const RowStatistics<T>& row);
  Format accumulator_;
  bool flushed_;
  T argument_step_;  // absolute error of one difference
  T conversion_;     // how far a D moves by conversions, without the argument's roundings
};

extern template struct RoundingModel<UpperBound>;
extern template struct RoundingModel<Enclosure>;

}  // namespace softcheck::numerics
