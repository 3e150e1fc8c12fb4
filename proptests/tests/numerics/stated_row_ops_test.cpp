// B12 and B13: the code's bounds are the document's, what underflows included.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "numerics/rounding/rounding_gradient.hpp"
#include "numerics/rounding/rounding_projections.hpp"
#include "proptests/tests/numerics/stated_arithmetic.hpp"

namespace softcheck::numerics::stated_row_ops_test {
namespace {

using stated::Arithmetic;
using stated::expect_same;
using stated::grown;
using stated::Real;

const std::vector<stated::Setting> stated_settings{
    {Format::f32, Format::f32, "acc=f32 sum=sequential"},
    {Format::f32, Format::bf16, "acc=f32 exp=E:50,A:3 sum=blocks:4 subnormal=kept"},
    {Format::f64, Format::f32, "acc=f32 sum=tree subnormal=kept"},
    {Format::f16, Format::f16, "acc=f16 sum=tree products=bf16 subnormal=flushed"},
    {Format::f32, Format::bf16, "acc=f16 exp=E:3,A:2 sum=lanes:2 subnormal=flushed"},
    {Format::f32, Format::f16, "acc=f32 sum=tree products=f16 subnormal=flushed"},
};

struct Item {
  Real coefficient, upstream, gradient;  // |y_j|, |g_j|, |dx_j|
};
const std::vector<Item> items() { return {{Real(0.5), Real(2), Real(0.75)}, {Real(0x1p-12), Real(0), Real(0)}}; }

ScalarThreshold<Real> stated_softmax_gradient(const Contract& contract, const SoftmaxGradientRow<Real>& row,
                                              const Item& item) {
  const Arithmetic s(contract);
  const stated::Storage products(contract, contract.products);
  const Real n = Real::integer(row.terms), h = stated::sums_height(contract, row.size, row.terms) * s.lambda;
  const Real a = 2 * s.read + s.lambda + products.lambda, b = 2 * s.lambda + s.read;
  const Real l =
      exp(a) * (s.omega_r * (row.largest_coefficient + row.largest_upstream + s.omega_r) + s.omega_m) + products.lost;
  const Real e_m = grown(a + h) * row.product_magnitude, f_m = exp(h) * n * (l + s.omega_a);
  const Real& y = item.coefficient;
  const Real rounding = y * (grown(a + s.lambda) * item.upstream + grown(b) * row.mean_magnitude + exp(b) * e_m);
  const Real met = item.upstream + row.mean_magnitude + e_m + f_m;
  const Real lost = exp(b + s.read) * ((y + s.omega_r) * (s.omega_r + s.omega_a) + s.omega_r * met + s.omega_m) +
                    exp(s.lambda) * l + s.omega_a + y * exp(b) * f_m;
  return s.then_output(rounding, item.gradient, lost);
}

ScalarThreshold<Real> stated_log_gradient(const Contract& contract, const LogSoftmaxGradientRow<Real>& row,
                                          const Item& item, const Real& argument) {
  const Arithmetic s(contract);
  const Real n = Real::integer(row.terms), h = stated::sums_height(contract, row.size, row.terms) * s.lambda;
  const Real e_t = grown(s.read + h) * row.upstream_magnitude, f_t = exp(h) * n * (s.omega_r + s.omega_a);
  const Real q = Real(std::max(contract.exp_argument_error - 1, 0.0)) * s.lambda + s.read;
  const Real k = grown(q) * argument + s.omega_r + s.lambda_e + s.lambda;
  const Real& power = item.coefficient;
  Real rounding = grown(s.read) * item.upstream;
  const Real total = row.total_magnitude + e_t + f_t;
  Real lost = s.omega_r + s.omega_m + exp(s.lambda) * s.omega_x * total;
  if (argument.lower_double() >= 1600) {
    lost = lost + Real::power_of_two(-1000) * total;
  } else if (power.certainly_positive()) {
    rounding = rounding + power * (exp(k) * (row.total_magnitude + e_t) - row.total_magnitude);
    lost = lost + power * exp(k) * f_t;
  }
  return s.then_output(rounding + s.u * (item.gradient + rounding), item.gradient, lost * (1 + s.u) + s.omega_a);
}

TEST(StatedBounds, OfGradientsAreTheDocuments) {
  const PrecisionScope precision(256);
  for (const stated::Setting& setting : stated_settings) {
    const Contract contract = parse_contract(setting.words, setting.input, setting.output);
    for (const auto& [size, terms] :
         {std::pair<std::uint64_t, std::uint64_t>{1, 0}, {1, 1}, {9, 3}, {6, 6}, {40, 40}}) {
      const std::string what = std::string(setting.words) + " terms=" + std::to_string(terms) + " ";
      const SoftmaxGradientRow<Real> row{size, terms, Real(1.5), Real(0.5), Real(0.75), Real(4)};
      const LogSoftmaxGradientRow<Real> log_row{size, terms, Real(3), Real(1.25)};
      const SoftmaxGradientThreshold<Real> b12(contract, row);
      const LogSoftmaxGradientThreshold<Real> b13(contract, log_row);
      for (const Item& item : items()) {
        expect_same(b12.element(item.coefficient, item.upstream, item.gradient),
                    stated_softmax_gradient(contract, row, item), what + "B12");
        expect_same(b12.metric(item.coefficient, item.upstream), item.coefficient * (item.upstream + Real(1.5)),
                    what + "B12, metric");
        expect_same(b13.metric(item.coefficient, item.upstream), item.upstream + item.coefficient * Real(3),
                    what + "B13, metric");
        // Beyond 1600 the power is below every double; a masked item has none.
        for (const double argument : {0.0, 2.5}) {
          expect_same(b13.element(item.coefficient, Real(argument), item.upstream, item.gradient),
                      stated_log_gradient(contract, log_row, item, Real(argument)), what + "B13");
        }
        const Item vanished{exp(Real(-1600)), item.upstream, item.gradient},
            masked{Real(0), item.upstream, item.gradient};
        expect_same(b13.element(vanished.coefficient, Real(1600), item.upstream, item.gradient),
                    stated_log_gradient(contract, log_row, vanished, Real(1600)), what + "B13, e^-1600");
        expect_same(b13.element(Real(0), Real(2), item.upstream, item.gradient),
                    stated_log_gradient(contract, log_row, masked, Real(2)), what + "B13, masked");
      }
    }
  }
}

// e^-1600 may stand for its product with the argument's error only where that is small: E u near 1 is not.
TEST(StatedBounds, OfAVanishedPowerHoldOnlyForASmallError) {
  const PrecisionScope precision(256);
  const LogSoftmaxGradientRow<Real> row{2, 2, Real(3), Real(1.25)};
  const Contract steep = parse_contract("acc=bf16 exp=E:2,A:64 sum=tree subnormal=kept", Format::bf16, Format::f32);
  const Real power = exp(Real(-1600));
  const auto bound = LogSoftmaxGradientThreshold<Real>(steep, row).element(power, Real(1600), Real(1), Real(0));
  const Arithmetic s(steep);
  const Real k = grown(63 * s.lambda) * 1600 + s.lambda_e + s.lambda;
  const Real e_t = grown(s.lambda) * 3;
  expect_same(bound.rounding, (1 + s.u) * power * (exp(k) * (Real(1.25) + e_t) - Real(1.25)), "B13, steep");
}

// B20 and B21: the code's bounds are the documents', what underflows included.
const std::vector<stated::Setting> projection_settings{
    {Format::f32, Format::f32, "acc=f32 sum=sequential"},
    {Format::f32, Format::bf16, "acc=bf16 sum=blocks:4 subnormal=kept"},
    {Format::f64, Format::f16, "acc=f32 sum=tree subnormal=flushed"},
    {Format::f16, Format::f16, "acc=f16 sum=sequential subnormal=flushed"},
    {Format::f32, Format::bf16, "acc=f16 sum=lanes:2 subnormal=kept"},
};

// "a scan goes up and down the tree".
Real scanned(const Contract& contract, std::uint64_t size, std::uint64_t count) {
  return Real::integer(std::min(2 * summation_height(contract, size), count - 1));
}

// A deviation of logits that are read: its log error and its loss.
struct Deviation {
  Real rho, lost;
  Deviation(const Arithmetic& s, const Contract& contract, const Real& maximum) : rho(s.lambda + s.read) {
    const Real of_each = stated::holds(contract.accumulator, contract.input) ? Real(0) : s.u;
    lost = exp(s.lambda) * (2 * of_each * maximum + 2 * s.omega_r) + s.omega_a;
  }
};

TEST(StatedBounds, OfSparsemaxAreTheDocuments) {
  const PrecisionScope precision(256);
  for (const stated::Setting& setting : projection_settings) {
    const Contract contract = parse_contract(setting.words, setting.input, setting.output);
    const Arithmetic s(contract);
    for (const auto& [size, visible, most] :
         {std::array<std::uint64_t, 3>{1, 1, 1}, {9, 3, 2}, {6, 6, 6}, {40, 40, 7}}) {
      const std::string what = std::string(setting.words) + " visible=" + std::to_string(visible) + " ";
      const Real top(0.625), maximum(3), moved(0x1p-9), mean(0.375);
      const Deviation d(s, contract, maximum);
      const SparsemaxThreshold<Real> bound(contract, {size, visible, top, maximum});
      const Real all = scanned(contract, size, visible), some = scanned(contract, size, most);
      const Real item = exp((all + 2) * s.lambda) * (2 * d.lost + s.omega_a + s.omega_m);
      const Real compared = grown(d.rho + 2 * s.lambda), summed = grown(d.rho + (all + 1) * s.lambda);
      expect_same(bound.inside(), (2 * compared + summed) * top + item, what + "inside");
      for (const std::uint64_t count : {1, 5}) {
        const Real k = Real::integer(count), deviation(0.75), sum(1.25), own = scanned(contract, size, count);
        const Real lost = exp((own + 2) * s.lambda) * (2 * d.lost + s.omega_a + s.omega_m);
        expect_same(bound.condition(count, deviation, sum),
                    compared * (1 + k * deviation + sum) + grown(d.rho + (own + 1) * s.lambda) * sum + k * lost,
                    what + "condition");
      }
      const Real quotient = grown(3 * s.lambda) * (top + moved) +
                            exp(3 * s.lambda) * grown(d.rho + some * s.lambda) * mean +
                            exp((some + 3) * s.lambda) * (d.lost + s.omega_a) + s.omega_m;
      for (const double value : {0.0, 0.5}) {
        const Real deviation(0.125);
        const Real error = grown(s.lambda) * Real(value) +
                           exp(s.lambda) * (grown(d.rho) * deviation + d.lost + quotient + moved) + s.omega_a;
        expect_same(bound.element(deviation, Real(value), {most, mean, moved}),
                    error + s.u_out * (Real(value) + error) + s.lost_out, what + "element");
      }
    }
  }
}

Real stated_root(const Arithmetic& s, const Deviation& d, const Real& a, const Real& h, const RootPrefix<Real>& of) {
  const Real mean = grown(d.rho + (h + 3) * s.lambda) * of.mean + exp((h + 3) * s.lambda) * (a + s.omega_a) + s.omega_m;
  const Real squares = grown(2 * d.rho + (h + 4) * s.lambda) * of.mean_square +
                       exp((h + 4) * s.lambda) * (2 * exp(d.rho) * a * of.mean + a * a + s.omega_a + s.omega_m) +
                       s.omega_m;
  const Real radicand = grown(6 * s.lambda) * (of.width + of.mean_square) +
                        exp(6 * s.lambda) * (squares + mean * (2 * of.mean + mean) + 2 * s.omega_a + 3 * s.omega_m);
  const Real spread = minimum(radicand * of.inverse_spread, sqrt(radicand));
  return grown(s.lambda) * of.root +
         exp(s.lambda) * (mean + grown(2 * s.lambda) * of.spread + exp(2 * s.lambda) * spread + s.omega_m) + s.omega_a;
}

TEST(StatedBounds, OfRootProjectionsAreTheDocuments) {
  const PrecisionScope precision(256);
  for (const stated::Setting& setting : projection_settings) {
    const Contract contract = parse_contract(setting.words, setting.input, setting.output);
    const Arithmetic s(contract);
    for (const auto& [size, visible, count] :
         {std::array<std::uint64_t, 3>{1, 1, 1}, {9, 3, 2}, {6, 6, 6}, {40, 40, 7}}) {
      const std::string what = std::string(setting.words) + " count=" + std::to_string(count) + " ";
      const Real maximum(3), top(0x1p-9), item(0.125);
      const Deviation d(s, contract, maximum);
      const Real read = (d.lost - s.omega_a) / exp(s.lambda);
      const Real a = exp(s.lambda) * (read / 2 + 2 * s.omega_m) + s.omega_a;
      const RootProjectionThreshold<Real> bound(contract, size, visible, maximum);
      RootPrefix<Real> of{count, Real(0.25), Real(0.125), Real(0.5), Real(0.375), Real(1) / Real(0.375), Real(0.625)};
      expect_same(bound.root(of), stated_root(s, d, a, scanned(contract, size, count), of), what + "root");
      // A spread so small that the square root of the radicand's error is the smaller one.
      RootPrefix<Real> auxiliary{count,     Real(0.25), Real(0.125), Real(0.5), Real(0), Real::power_of_two(900),
                                 Real(0.25)};
      expect_same(bound.root(auxiliary), stated_root(s, d, a, scanned(contract, size, count), auxiliary),
                  what + "root of none");
      const Real own = grown(d.rho) * item + a;
      expect_same(bound.half_deviation(item), own, what + "d");
      of.width = Real(2);
      of.spread = of.root = Real(1);
      expect_same(bound.root_within(of), stated_root(s, d, a, scanned(contract, size, visible), of), what + "within");
      for (const double value : {0.0, 0.5}) {
        const Real r(value);
        const Real error = grown(s.lambda) * r + exp(s.lambda) * (own + top) + s.omega_a;
        expect_same(bound.difference(item, r, top), error, what + "difference");
        const Real square = grown(s.lambda) * r * r + exp(s.lambda) * top * (2 * r + top) + s.omega_m;
        expect_same(bound.coefficient(r, top), square + s.u_out * (r * r + square) + s.lost_out, what + "coefficient");
      }
    }
  }
}

}  // namespace
}  // namespace softcheck::numerics::stated_row_ops_test
