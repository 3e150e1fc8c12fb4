#include "numerics/rounding/rounding_operations.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "numerics/formats/fp_environment.hpp"

namespace softcheck::numerics {

template <>
UpperBound unbounded<UpperBound>() {
  return UpperBound::infinity();
}

template <>
Enclosure unbounded<Enclosure>() {
  return log(Enclosure(-1));
}

template <>
UpperBound bound_of<UpperBound>(const Enclosure& x) {
  return UpperBound(std::max(x.upper_double(), 0.0));
}

template <>
Enclosure bound_of<Enclosure>(const Enclosure& x) {
  return x;
}

namespace {

// 2 ln 2, rounded up: 2 * 0.693147180559945309...
constexpr double twice_log_two = 0x1.62e42fefa39f0p+0;

}  // namespace

bool embeds(Format inner, Format outer) {
  const FormatProperties& i = properties(inner);
  const FormatProperties& o = properties(outer);
  return i.precision <= o.precision && i.largest <= o.largest && i.smallest_subnormal >= o.smallest_subnormal;
}

Enclosure minus_log1m(const Enclosure& x) { return (1 - x).certainly_positive() ? -log1p(-x) : unbounded<Enclosure>(); }

Enclosure over_one_minus(const Enclosure& x) {
  return (1 - x).certainly_positive() ? 1 / (1 - x) : unbounded<Enclosure>();
}

double upper(const UpperBound& bound) { return bound.value(); }

double upper(const Enclosure& bound) {
  return bound.is_nan() ? std::numeric_limits<double>::infinity() : bound.upper_double();
}

template <class T>
StorageError<T> storage_error(const Contract& contract, const std::optional<Format>& format) {
  if (!format || embeds(contract.accumulator, *format)) return {};
  const FormatProperties& p = properties(*format);
  const bool narrower = p.precision < properties(contract.accumulator).precision;
  const T unit = narrower ? minus_log1m(T(p.unit_roundoff)) : T(0);
  const bool flushed = contract.subnormals == Subnormals::flushed;
  return {unit, flushed ? T(p.smallest_normal) : T(p.smallest_subnormal) * T(0.5)};
}

template <class T>
StorageError<T> weights_error(const Contract& contract) {
  if (!contract.weights || properties(*contract.weights).storage_bits > 8) {
    return storage_error<T>(contract, contract.weights);
  }
  const FormatProperties& p = properties(*contract.weights);
  return {minus_log1m(T(p.unit_roundoff)), T(std::ldexp(p.smallest_subnormal, -1 - contract.weights_power))};
}

template <class T>
OperationModel<T>::OperationModel(const Contract& contract) {
  const FpEnvironmentGuard guard;
  const FormatProperties& p = properties(contract.accumulator);
  const bool flushed = contract.subnormals == Subnormals::flushed;
  largest = p.largest;
  roundoff = T(p.unit_roundoff);
  unit = minus_log1m(roundoff);
  exp_unit = minus_log1m(T(contract.exp_error) * roundoff);
  log_roundoff = T(contract.log_error) * roundoff;
  const T half_quantum = T(p.smallest_subnormal) * T(0.5);
  // Gradual underflow: additions are exact, products err by half a quantum, an exponential of K = E/2 ulp by K quanta.
  const T exp_quanta = maximum(T(contract.exp_error), T(1)) * half_quantum;
  sum_floor = flushed ? T(p.smallest_normal) : T(0);
  product_floor = flushed ? T(p.smallest_normal) : half_quantum;
  exp_floor = flushed ? maximum(T(p.smallest_normal), exp_quanta) : exp_quanta;
  exp_floor = maximum(exp_floor, T(contract.least_exp));
  // The smallest subnormal number is 2^-(precision - 1 - min_exponent).
  exp_cutoff = T(p.precision - 1 - p.min_exponent) * T(twice_log_two);

  const bool read_exactly = embeds(contract.input, contract.accumulator);
  reading_unit = read_exactly ? T(0) : unit;
  reading_floor = read_exactly && !flushed ? T(0) : product_floor;

  const FormatProperties& out = properties(contract.output);
  output_roundoff = out.precision < p.precision ? T(out.unit_roundoff) : T(0);
  output_unit = minus_log1m(output_roundoff);
  const bool narrower = contract.output != contract.accumulator && !embeds(contract.accumulator, contract.output);
  output_floor = T(0);
  if (narrower) output_floor = flushed ? T(out.smallest_normal) : T(out.smallest_subnormal) * T(0.5);
}

template <class T>
ScalarThreshold<T> OperationModel<T>::output(const T& error, const T& magnitude, const T& floor) const {
  const T rounding = error + output_roundoff * (magnitude + error);
  return {rounding, floor * (1 + output_roundoff) + output_floor};
}

template StorageError<UpperBound> storage_error<UpperBound>(const Contract&, const std::optional<Format>&);
template StorageError<Enclosure> storage_error<Enclosure>(const Contract&, const std::optional<Format>&);
template StorageError<UpperBound> weights_error<UpperBound>(const Contract&);
template StorageError<Enclosure> weights_error<Enclosure>(const Contract&);
template struct OperationModel<UpperBound>;
template struct OperationModel<Enclosure>;

}  // namespace softcheck::numerics
