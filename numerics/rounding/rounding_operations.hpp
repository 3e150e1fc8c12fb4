#pragma once

#include <optional>

#include "numerics/rounding/rounding.hpp"

namespace softcheck::numerics {

// The primitives that UpperBound has of its own.
/// -ln(1 - x); not a number where x may reach 1.
Enclosure minus_log1m(const Enclosure& x);
/// 1 / (1 - x); not a number where x may reach 1.
Enclosure over_one_minus(const Enclosure& x);

/// The infinite bound.
template <class T>
T unbounded();
template <>
UpperBound unbounded<UpperBound>();
template <>
Enclosure unbounded<Enclosure>();

/// An upper bound of a nonnegative enclosure, in a bound's scalar.
template <class T>
T bound_of(const Enclosure& x);
template <>
UpperBound bound_of<UpperBound>(const Enclosure& x);
template <>
Enclosure bound_of<Enclosure>(const Enclosure& x);

/// Is every number of inner a number of outer?
bool embeds(Format inner, Format outer);

/// The error of a value that is stored in another format than the accumulator's: a log error, -ln(1 - u) or 0, and the
/// underflow.
template <class T>
struct StorageError {
  T unit{};
  T floor{};
};
template <class T>
StorageError<T> storage_error(const Contract& contract, const std::optional<Format>& format);

/// One operation of a contract's accumulator, and how numbers enter and leave it; notation of docs/tolerances.md, "The
/// model". Errors of positive quantities are measured as |ln(computed / exact)|.
template <class T>
struct OperationModel {
  explicit OperationModel(const Contract& contract);

  T roundoff;          // u
  T unit;              // lambda = -ln(1 - u) >= |ln(1 + d)|, |d| <= u
  T exp_unit;          // lambda_E = -ln(1 - E u)
  T log_roundoff;      // E_l u
  T sum_floor;         // omega_a: absolute error of an addition that underflows
  T product_floor;     // omega_m: of a product or a quotient
  T exp_floor;         // omega_x: of an exponential
  T exp_cutoff;        // D_0: exponentials beyond it are 0
  double largest = 0;  // largest number of the accumulator
  // A number of the input's format as it is read: zero where it is a number of the accumulator, and not flushed.
  T reading_unit;   // r
  T reading_floor;  // omega_r
  // The output's rounding: zero where every accumulator value is an output value.
  T output_roundoff;  // u_out
  T output_unit;      // -ln(1 - u_out)
  T output_floor;

  /// The rounding of a scalar result of the given magnitude to the output, on top of an error.
  ScalarThreshold<T> output(const T& error, const T& magnitude, const T& floor) const;
};

extern template struct OperationModel<UpperBound>;
extern template struct OperationModel<Enclosure>;

}  // namespace softcheck::numerics
