#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>

#include "numerics/enclosures/decision.hpp"
#include "numerics/rounding/contract.hpp"
#include "numerics/rounding/rounding.hpp"

/// The bounds of docs/tolerances.md stated a second time, in exact reals, by an author who had read the code: no
/// function of numerics/rounding*.cpp is called. A bound in the code that is smaller or wider by a part in 2^40 is
/// found.
namespace softcheck::numerics::stated {

using Real = Enclosure;

/// No bound: not a number.
inline Real none() { return log(Real(-1)); }
/// -ln(1 - x).
inline Real lambda_of(const Real& x) { return (1 - x).certainly_positive() ? -log(1 - x) : none(); }
/// e^s - 1.
inline Real grown(const Real& s) { return exp(s) - 1; }
/// 1 / (1 - x).
inline Real over_rest(const Real& x) { return (1 - x).certainly_positive() ? 1 / (1 - x) : none(); }

inline bool promises(const Real& bound) { return !bound.is_nan() && std::isfinite(bound.upper_double()); }

/// The code's bound is the stated one: never less, and not more than its constants' roundings to doubles explain.
inline void expect_same(const Real& bound, const Real& said, const std::string& what) {
  ASSERT_EQ(promises(bound), promises(said)) << what << ": one side promises nothing";
  if (!promises(said)) return;
  const Real slack = Real::power_of_two(-150);  // of what is subtracted on the way, at 256 bits
  EXPECT_FALSE((bound - said + said * slack).certainly_negative())
      << what << ": " << bound.to_string(16) << " < " << said.to_string(16);
  EXPECT_FALSE((said * (1 + Real::power_of_two(-40)) - bound).certainly_negative())
      << what << ": " << bound.to_string(16) << " > " << said.to_string(16);
}

inline void expect_same(const ScalarThreshold<Real>& bound, const ScalarThreshold<Real>& said,
                        const std::string& what) {
  expect_same(bound.rounding, said.rounding, what + ", rounding");
  expect_same(bound.floor, said.floor, what + ", underflow");
}

/// Is every number of inner a number of outer?
inline bool holds(Format outer, Format inner) {
  const FormatProperties& i = properties(inner);
  const FormatProperties& o = properties(outer);
  return i.precision <= o.precision && i.max_exponent <= o.max_exponent &&
         i.min_exponent - i.precision >= o.min_exponent - o.precision;
}

/// "Intermediate values": what storing in another format costs.
struct Storage {
  Real lambda, lost;
  Storage(const Contract& contract, std::optional<Format> format) {
    if (!format || holds(*format, contract.accumulator)) return;
    const FormatProperties& to = properties(*format);
    if (to.precision < properties(contract.accumulator).precision) lambda = lambda_of(Real(to.unit_roundoff));
    const bool flushed = contract.subnormals == Subnormals::flushed;
    lost = Real::power_of_two(flushed ? to.min_exponent : to.min_exponent - to.precision);
  }
};

/// "The model".
struct Arithmetic {
  Format format;
  bool flushed;
  Real u, lambda, lambda_e, log_error;
  Real omega_a, omega_m, omega_x, cutoff;
  Real quantum, smallest_normal;
  Real read, omega_r;
  Real u_out, lambda_out, lost_out;

  explicit Arithmetic(const Contract& contract)
      : format(contract.accumulator), flushed(contract.subnormals == Subnormals::flushed) {
    const FormatProperties& p = properties(format);
    u = Real::power_of_two(-p.precision);
    lambda = lambda_of(u);
    lambda_e = lambda_of(Real(contract.exp_error) * u);
    log_error = Real(contract.log_error) * u;
    quantum = Real::power_of_two(p.min_exponent - p.precision + 1);
    smallest_normal = Real::power_of_two(p.min_exponent);
    omega_a = flushed ? smallest_normal : Real(0);
    omega_m = flushed ? smallest_normal : quantum / 2;
    const Real quanta = Real(std::max(contract.exp_error, 1.0)) * quantum / 2;
    omega_x = flushed ? maximum(smallest_normal, quanta) : quanta;
    cutoff = -2 * log(quantum);
    if (!holds(format, contract.input)) {
      read = lambda;
      omega_r = omega_m;
    } else {
      omega_r = flushed ? smallest_normal : Real(0);
    }
    const FormatProperties& to = properties(contract.output);
    if (to.precision < p.precision) u_out = Real::power_of_two(-to.precision);
    lambda_out = lambda_of(u_out);
    if (!holds(contract.output, format)) {
      lost_out = Real::power_of_two(flushed ? to.min_exponent : to.min_exponent - to.precision);
    }
  }

  /// "then the output".
  ScalarThreshold<Real> then_output(const Real& error, const Real& magnitude, const Real& lost) const {
    return {error + u_out * (magnitude + error), lost * (1 + u_out) + lost_out};
  }
};

/// Log errors of the sum of nonnegative things: the code's `unit`s of one row.
inline Real sums_height(const Contract& contract, std::uint64_t size, std::uint64_t terms) {
  return Real::integer(terms == 0 ? 0 : std::min(summation_height(contract, size), terms - 1));
}

}  // namespace softcheck::numerics::stated
