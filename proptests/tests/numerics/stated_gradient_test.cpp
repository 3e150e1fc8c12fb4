// Compiled alone: its quantities bear the names that other tests of bounds have.
// B12 and B13: the code's bounds are the document's, what underflows included.
#include <gtest/gtest.h>

#include "numerics/rounding/rounding_gradient.hpp"
#include "proptests/tests/numerics/stated_arithmetic.hpp"
#include "proptests/tests/numerics/stated_rows.hpp"

namespace softcheck::numerics {
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

}  // namespace
}  // namespace softcheck::numerics
