#pragma once

#include <optional>

#include "numerics/rounding/rounding.hpp"

namespace softcheck::numerics {

// Functions that UpperBound already has.
/// -ln(1 - x); NaN if x can reach 1.
Enclosure minus_log1m(const Enclosure& x);
/// 1 / (1 - x); NaN if x can reach 1.
Enclosure over_one_minus(const Enclosure& x);

/// The infinite bound.
template <class T>
T unbounded();
template <>
UpperBound unbounded<UpperBound>();
template <>
Enclosure unbounded<Enclosure>();

/// An upper bound of a nonnegative enclosure, in the bound's scalar type.
template <class T>
T bound_of(const Enclosure& x);
template <>
UpperBound bound_of<UpperBound>(const Enclosure& x);
template <>
Enclosure bound_of<Enclosure>(const Enclosure& x);

/// Is every number of inner a number of outer?
bool embeds(Format inner, Format outer);

/// The error of storing a value in a format other than the accumulator's: the log error, -ln(1 - u) or 0, and the
/// underflow.
template <class T>
struct StorageError {
  T unit{};
  T floor{};
};
template <class T>
StorageError<T> storage_error(const Contract& contract, const std::optional<Format>& format);
/// Of exponentials in the format of weights=. A conversion to 8 bits keeps subnormal numbers under every contract.
template <class T>
StorageError<T> weights_error(const Contract& contract);

/// One operation of a contract's accumulator, and the conversions of its inputs and outputs; notation of
/// docs/tolerances.md, "The model". Errors of positive quantities are measured as |ln(computed / exact)|.
template <class T>
struct OperationModel {
  explicit OperationModel(const Contract& contract);

  T roundoff;          // u
  T unit;              // lambda = -ln(1 - u) >= |ln(1 + d)|, |d| <= u
  T exp_unit;          // lambda_E = -ln(1 - E u)
  T log_roundoff;      // E_l u
  T sum_floor;         // omega_a: absolute underflow error of an addition
  T product_floor;     // omega_m: the same for a product or a quotient
  T exp_floor;         // omega_x: the same for an exponential
  T exp_cutoff;        // D_0: exp(-D) is 0 for larger D
  double largest = 0;  // largest number of the accumulator
  // Reading a number of the input's format: zero if it is a number of the accumulator and is not flushed.
  T reading_unit;   // r
  T reading_floor;  // omega_r
  // The output's rounding: zero if the output has all numbers of the accumulator.
  T output_roundoff;  // u_out
  T output_unit;      // -ln(1 - u_out)
  T output_floor;

  /// Adds the rounding of a scalar result of this magnitude to the output.
  ScalarThreshold<T> output(const T& error, const T& magnitude, const T& floor) const;
};

extern template struct OperationModel<UpperBound>;
extern template struct OperationModel<Enclosure>;

}  // namespace softcheck::numerics
