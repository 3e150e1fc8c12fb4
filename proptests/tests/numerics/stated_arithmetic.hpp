#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <vector>

#include "numerics/enclosures/decision.hpp"
#include "numerics/rounding/contract.hpp"
#include "numerics/rounding/rounding.hpp"

/// The bounds of docs/tolerances.md stated a second time, in exact reals, by an author who had read the code: no
/// function of numerics/rounding*.cpp is called. A bound in the code that is smaller or wider by a part in 2^40 is
/// found.
namespace softcheck::numerics::stated {

struct Setting {
  Format input, output;
  const char* words;
};

/// Every accumulator and every word that a bound reads. In f16 that flushes, what underflows is as large as a rounding.
inline const std::vector<Setting> settings{
    {Format::f32, Format::f32, "acc=f32 exp=1ulp sum=sequential"},
    {Format::f32, Format::bf16, "acc=f32 exp=0.25ulp sum=lanes:8 subnormal=kept"},
    {Format::f64, Format::f16, "acc=f32 exp=E:50,A:3 sum=blocks:4 lse=uncentred entropy_from=logits"},
    {Format::f64, Format::f64, "acc=f64 exp=1ulp sum=lanes:4 entropy_from=coefficients"},
    {Format::f16, Format::f16, "acc=f16 exp=1ulp sum=tree subnormal=flushed"},
    {Format::f16, Format::f16, "acc=f16 exp=1ulp sum=tree subnormal=kept lse=uncentred entropy_from=coefficients"},
    {Format::f32, Format::f16, "acc=f16 exp=E:3,A:2 sum=lanes:2 subnormal=flushed entropy_from=coefficients"},
    {Format::bf16, Format::bf16, "acc=bf16 exp=0.5ulp sum=tree theta=before lse=uncentred entropy_from=logits"},
    {Format::f32, Format::f32, "acc=f16 exp=1ulp sum=tree theta=before subnormal=flushed entropy_from=logits"},
    {Format::f16, Format::f16, "acc=f16 exp=1ulp sum=tree theta=before subnormal=flushed entropy=exact"},
    {Format::f16, Format::f16, "acc=f32 exp=2ulp sum=tree weights=f16 total=bf16 subnormal=kept entropy=paper"},
    {Format::bf16, Format::f16,
     "acc=f32 exp=1ulp sum=tree weights=f16 total=f16 subnormal=flushed theta=before entropy_from=coefficients"},
    {Format::e4m3, Format::bf16, "acc=f32 exp=1ulp sum=sequential weights=e4m3:2^8 subnormal=flushed"},
    {Format::f16, Format::f16, "acc=f32 exp=1ulp sum=blocks:4 weights=e5m2:2^15 subnormal=kept"},
};

/// Row statistics as no row would have them all: the bounds are formulas in each.
inline std::vector<RowStatistics<Enclosure>> rows() {
  std::vector<RowStatistics<Enclosure>> result;
  struct Numbers {
    std::uint64_t size, visible, rescalings;
    double theta, log_sum, mean, square, maximum, largest, logsumexp;
  };
  for (const Numbers& x :
       {Numbers{1, 1, 0, 1, 0, 0, 0, 0.25, 0.25, 0.25}, Numbers{6, 4, 2, 1, 1.25, 0.5, 1.5, 3, 4, 4.25},
        Numbers{9, 9, 3, 0.3, 0.75, 0.875, 2.25, 1.5, 7, 2.25}, Numbers{5, 2, 0, 4, 0.5, 0.25, 0.375, 0.125, 1, 0.625},
        Numbers{40, 33, 1, 0.5, 2.5, 0.75, 1.25, 0, 5, 2.5},
        Numbers{30000, 20000, 0, 1, 9.75, 0.125, 0.25, 1, 2, 10.75}}) {
    result.push_back({x.size, x.visible, x.rescalings, x.theta, Enclosure(x.log_sum), Enclosure(x.mean),
                      Enclosure(x.square), Enclosure(x.maximum), Enclosure(x.largest), Enclosure(x.logsumexp)});
  }
  return result;
}

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
  /// Of `weights=`: 8 bits are never flushed, and those of e^x times 2^K lose 2^-K of what they would.
  static Storage of_weights(const Contract& contract) {
    Storage stored(contract, contract.weights);
    if (!contract.weights || properties(*contract.weights).storage_bits > 8) return stored;
    const FormatProperties& to = properties(*contract.weights);
    stored.lost = Real::power_of_two(to.min_exponent - to.precision - contract.weights_power);
    return stored;
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
