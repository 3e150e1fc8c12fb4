// The bounds of the gradients are the theorems' right-hand sides, as Coq prints them (theorem_gradient_formulas.hpp).

#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "numerics/enclosures/decision.hpp"
#include "numerics/oracles/softmax_gradient.hpp"
#include "numerics/rounding/rounding_gradient.hpp"
#include "proptests/tests/numerics/row_families.hpp"
#include "proptests/tests/numerics/theorem_gradient_formulas.hpp"

namespace softcheck::numerics {
namespace {

using GradientQuantities = theorems::gradients::Quantities<Enclosure>;

struct GradientFormulaSetting {
  Format input, output;
  const char* words;
};

const std::vector<GradientFormulaSetting> gradient_formula_settings{
    {Format::f32, Format::f32, "acc=f32 sum=sequential"},
    {Format::f32, Format::bf16, "acc=f32 exp=E:50,A:3 sum=blocks:4 subnormal=kept"},
    {Format::f64, Format::f64, "acc=f64 sum=lanes:4"},
    {Format::f64, Format::f32, "acc=f32 sum=tree subnormal=kept"},
    {Format::f16, Format::f16, "acc=f32 sum=tree products=f16"},
    {Format::bf16, Format::bf16, "acc=bf16 sum=tree products=bf16"},
    {Format::f32, Format::f16, "acc=f16 sum=lanes:2"},
};

GradientQuantities gradient_quantities(const Contract& contract) {
  const OperationModel<Enclosure> model(contract);
  const StorageError<Enclosure> stored = storage_error<Enclosure>(contract, contract.products);
  GradientQuantities q;
  q.roundoff = Enclosure(properties(contract.accumulator).unit_roundoff);
  q.exp_error = Enclosure(contract.exp_error) * q.roundoff;
  q.sum_floor = model.sum_floor;
  q.product_floor = model.product_floor;
  q.exp_floor = model.exp_floor;
  q.reading_unit = model.reading_unit;
  q.reading_loss = model.reading_floor;
  q.product_unit = stored.unit;
  q.product_loss = stored.floor;
  q.output_roundoff = model.output_roundoff;
  q.output_floor = model.output_floor;
  return q;
}

// The rounding is the theorem's within a part in a million, the whole never less.
void expect_theorem(const ScalarThreshold<Enclosure>& bound, const Enclosure& rounding, const Enclosure& total,
                    double quick, const std::string& what) {
  EXPECT_FALSE((bound.rounding - rounding).certainly_negative()) << what;
  EXPECT_FALSE((rounding * Enclosure(1 + 0x1p-20) - bound.rounding).certainly_negative()) << what;
  EXPECT_FALSE((bound.total() - total).certainly_negative()) << what;
  EXPECT_EQ(less_equal(bound.total(), Enclosure(quick)), Decision::proved) << what;
  EXPECT_EQ(less_equal(Enclosure(quick), bound.total() * Enclosure(1 + 0x1p-40) + Enclosure::power_of_two(-1000)),
            Decision::proved)
      << what;
}

UpperBound at_least(const Enclosure& x) { return UpperBound(std::max(x.upper_double(), 0.0)); }

// compare(contract, row, item, oracle, q, what) of every contract and row that has a sum, the quantities of both set.
template <class Oracle, class RowsOf, class Compare>
void for_each_gradient(const RowsOf& rows_of, const Compare& compare) {
  const PrecisionScope precision(256);
  for (const GradientFormulaSetting& setting : gradient_formula_settings) {
    const Contract contract = parse_contract(setting.words, setting.input, setting.output);
    for (const std::size_t n : {1, 5, 40}) {
      for (const tests::GradientRow& row : rows_of(setting.input, n, 3)) {
        if (std::isinf(row.y[n / 3])) continue;
        const Oracle oracle(row.y, row.g);
        const auto exact = oracle.template row<Enclosure>();
        if (exact.terms == 0) continue;
        GradientQuantities q = gradient_quantities(contract);
        q.height = Enclosure::integer(std::min(summation_height(contract, exact.size), exact.terms - 1));
        q.terms = Enclosure::integer(exact.terms);
        q.upstream = abs(Enclosure(row.g[n / 3]));
        q.gradient_magnitude = abs(oracle.gradient(n / 3));
        compare(contract, abs(Enclosure(row.y[n / 3])), oracle, q, row.name + " [" + setting.words + "]");
      }
    }
  }
}

TEST(GradientFormulas, TheBoundOfSoftmaxsGradientIsTheTheorems) {
  for_each_gradient<SoftmaxGradientOracle>(
      tests::gradient_rows, [](const Contract& contract, const Enclosure& y, const SoftmaxGradientOracle& oracle,
                               GradientQuantities q, const std::string& what) {
        const auto exact = oracle.row<Enclosure>();
        const SoftmaxGradientThreshold<Enclosure> threshold(contract, exact);
        const SoftmaxGradientThreshold<UpperBound> quick(contract, oracle.row<UpperBound>());
        q.magnitude = exact.product_magnitude;
        q.mean_magnitude = exact.mean_magnitude;
        q.largest_coefficient = exact.largest_coefficient;
        q.largest_upstream = exact.largest_upstream;
        q.coefficient = y;
        const theorems::gradients::GradientBounds<Enclosure> theorem(q);
        const Enclosure& rounding = theorem.gradient_rounding;
        expect_theorem(threshold.element(q.coefficient, q.upstream, q.gradient_magnitude),
                       rounding + q.output_roundoff * (q.gradient_magnitude + rounding), theorem.softmax_gradient,
                       upper(quick.element(at_least(y), at_least(q.upstream), at_least(q.gradient_magnitude)).total()),
                       what);
      });
}

TEST(GradientFormulas, TheBoundOfLogSoftmaxsGradientIsTheTheorems) {
  for_each_gradient<LogSoftmaxGradientOracle>(
      tests::log_gradient_rows, [](const Contract& contract, const Enclosure& y, const LogSoftmaxGradientOracle& oracle,
                                   GradientQuantities q, const std::string& what) {
        const auto exact = oracle.row<Enclosure>();
        const LogSoftmaxGradientThreshold<Enclosure> threshold(contract, exact);
        const LogSoftmaxGradientThreshold<UpperBound> quick(contract, oracle.row<UpperBound>());
        q.magnitude = exact.upstream_magnitude;
        q.mean_magnitude = exact.total_magnitude;
        const Enclosure unit = theorems::gradients::GradientBounds<Enclosure>(q).unit;
        q.argument_log = Enclosure(contract.exp_argument_error - 1) * unit + q.reading_unit;
        q.power = oracle.power(exact.size / 3);
        q.argument = y;
        const theorems::gradients::GradientBounds<Enclosure> theorem(q);
        const Enclosure& second = theorem.log_gradient_second;
        expect_theorem(
            threshold.element(q.power, y, q.upstream, q.gradient_magnitude),
            second + q.output_roundoff * (q.gradient_magnitude + second), theorem.log_softmax_gradient,
            upper(quick.element(at_least(q.power), at_least(y), at_least(q.upstream), at_least(q.gradient_magnitude))
                      .total()),
            what);
      });
}

}  // namespace
}  // namespace softcheck::numerics
