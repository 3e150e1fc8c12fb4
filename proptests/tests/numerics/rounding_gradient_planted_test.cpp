// Compiled alone: what it simulates bears the names that other tests of bounds have.
// B12 and B13 with a term left out, each with a kernel that keeps its contract and breaks the wrong bound - while the
// right one holds.

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <iostream>
#include <random>
#include <vector>

#include "numerics/rounding/rounding_gradient.hpp"
#include "proptests/tests/numerics/bound_ratio.hpp"
#include "proptests/tests/numerics/gradient_bounds.hpp"
#include "proptests/tests/numerics/simulated_gradient.hpp"

namespace softcheck::numerics {
namespace {

using simulated::above;
using simulated::Arithmetic;
using simulated::b12;
using simulated::b13;
using simulated::Errors;
using simulated::GradientForm;
using simulated::half_ulp_products;
using tests::GradientRow;

// A bound with something left out: the right one holds for all rows, the wrong one is certainly exceeded on one.
struct Left {
  std::function<void(Contract&)> contract = [](Contract&) {};
  std::function<void(SoftmaxGradientRow<UpperBound>&)> row = [](SoftmaxGradientRow<UpperBound>&) {};
  bool without_upstream = false;
  bool without_result = false;
};

void expect_needed(const char* words, Format input, Format output, const std::vector<GradientRow>& rows,
                   const Left& left) {
  const PrecisionScope scope(113);
  const Contract contract = parse_contract(words, input, output);
  Contract wrong_contract = contract;
  left.contract(wrong_contract);
  std::size_t broken = 0;
  for (const GradientRow& row : rows) {
    const SoftmaxGradientOracle oracle(row.y, row.g);
    auto wrong_row = oracle.row<UpperBound>();
    left.row(wrong_row);
    const SoftmaxGradientThreshold<UpperBound> wrong(wrong_contract, wrong_row);
    for (const GradientForm form : {GradientForm::centred, GradientForm::expanded}) {
      const auto got = simulated::softmax_gradient(Arithmetic(contract, Errors::nearest), row.y, row.g, form);
      for (std::size_t j = 0; j < row.y.size(); j += 1 + row.y.size() / 8) {
        EXPECT_TRUE(simulated::holds(got[j], oracle.gradient(j), b12(contract, oracle, row, j))) << row.name << j;
        const UpperBound upstream(left.without_upstream ? 0 : std::fabs(row.g[j]));
        const UpperBound result = left.without_result ? UpperBound() : above(abs(oracle.gradient(j)));
        const double bound = upper(wrong.element(UpperBound(std::fabs(row.y[j])), upstream, result).total());
        broken += simulated::exceeds(got[j], oracle.gradient(j), bound) ? 1 : 0;
      }
    }
  }
  EXPECT_GT(broken, 0u);
  std::cout << "the planted bound is exceeded " << broken << " times\n";
}

std::vector<GradientRow> pairs(Format format) {
  std::vector<GradientRow> rows;
  std::mt19937_64 engine(9);
  std::uniform_real_distribution<double> unit(0.5, 1);
  for (int i = 0; i < 400; ++i) {
    GradientRow mean_alone{"mean alone", {unit(engine), unit(engine)}, {unit(engine), 0}};
    GradientRow upstream_alone{"upstream alone", {0x1p-9 * unit(engine), unit(engine)}, {unit(engine), 0x1p-40}};
    const double g = unit(engine);
    GradientRow cancelling{"cancelling", {unit(engine), 0, 1}, {g, -g, 0}};
    cancelling.y[1] = cancelling.y[0] * (1 + 0x1p-18);
    for (GradientRow* row : {&mean_alone, &upstream_alone, &cancelling}) {
      tests::narrow(row->y, format);
      tests::narrow(row->g, format);
      rows.push_back(*row);
    }
  }
  return rows;
}

TEST(PlantedGradientBound, WithoutTheHeightIsRejected) {
  expect_needed("subnormal=kept", Format::f32, Format::f32, {half_ulp_products(4096, 24)},
                {.row = [](SoftmaxGradientRow<UpperBound>& row) { row.terms = 1; }});
}

TEST(PlantedGradientBound, WithoutTheProductsOwnRoundingIsRejected) {
  expect_needed("", Format::f32, Format::f32, pairs(Format::f32),
                {.row = [](SoftmaxGradientRow<UpperBound>& row) { row.product_magnitude = UpperBound(); }});
}

TEST(PlantedGradientBound, WithoutTheMeansRoundingsIsRejected) {
  expect_needed("", Format::f32, Format::f32, pairs(Format::f32),
                {.row = [](SoftmaxGradientRow<UpperBound>& row) { row.mean_magnitude = UpperBound(); }});
}

TEST(PlantedGradientBound, WithoutTheUpstreamGradientIsRejected) {
  expect_needed("", Format::f32, Format::f32, pairs(Format::f32), {.without_upstream = true});
}

TEST(PlantedGradientBound, WithoutTheStoredProductsIsRejected) {
  expect_needed("products=bf16", Format::bf16, Format::f32, pairs(Format::bf16),
                {.contract = [](Contract& contract) { contract.products.reset(); }});
}

TEST(PlantedGradientBound, WithoutTheReadingsIsRejected) {
  expect_needed("acc=bf16", Format::f32, Format::f32, pairs(Format::f32),
                {.contract = [](Contract& contract) { contract.input = Format::bf16; }});
}

TEST(PlantedGradientBound, WithoutTheOutputIsRejected) {
  expect_needed("", Format::f32, Format::bf16, pairs(Format::f32), {.without_result = true});
}

TEST(PlantedGradientBound, WithoutWhatReadingFlushesIsRejected) {
  // A coefficient of 2^-130 is read as 0 and meets a gradient of 1000.
  expect_needed("subnormal=flushed", Format::f32, Format::f32, {{"subnormal", {0x1p-130, 0.5}, {1000, 0.25}}},
                {.contract = [](Contract& contract) { contract.subnormals = Subnormals::kept; }});
}

// The same for log-softmax's gradient.
struct LogLeft {
  std::function<void(Contract&)> contract = [](Contract&) {};
  std::function<void(LogSoftmaxGradientRow<UpperBound>&)> row = [](LogSoftmaxGradientRow<UpperBound>&) {};
  bool without_result = false;
};

void expect_log_needed(const char* words, Format input, const std::vector<GradientRow>& rows, const LogLeft& left) {
  const PrecisionScope scope(113);
  const Contract contract = parse_contract(words, input, Format::f32);
  Contract wrong_contract = contract;
  left.contract(wrong_contract);
  std::size_t broken = 0;
  for (const GradientRow& row : rows) {
    const LogSoftmaxGradientOracle oracle(row.y, row.g);
    auto wrong_row = oracle.row<UpperBound>();
    left.row(wrong_row);
    const LogSoftmaxGradientThreshold<UpperBound> wrong(wrong_contract, wrong_row);
    Arithmetic arithmetic(contract, Errors::up);
    const auto got = simulated::log_softmax_gradient(arithmetic, row.y, row.g);
    for (std::size_t j = 0; j < row.y.size(); j += 1 + row.y.size() / 8) {
      EXPECT_TRUE(simulated::holds(got[j], oracle.gradient(j), b13(contract, oracle, row, j))) << row.name << j;
      const UpperBound result = left.without_result ? UpperBound() : above(abs(oracle.gradient(j)));
      const double bound = upper(
          wrong
              .element(above(oracle.power(j)), UpperBound(std::fabs(row.y[j])), UpperBound(std::fabs(row.g[j])), result)
              .total());
      broken += simulated::exceeds(got[j], oracle.gradient(j), bound) ? 1 : 0;
    }
  }
  EXPECT_GT(broken, 0u);
  std::cout << "the planted bound is exceeded " << broken << " times\n";
}

GradientRow half_ulp_sum() {
  GradientRow row = half_ulp_products(4096, 24);
  for (double& y : row.y) y = 0;
  return row;
}

TEST(PlantedLogGradientBound, WithoutTheHeightIsRejected) {
  expect_log_needed("exp=0.5ulp subnormal=kept", Format::f32, {half_ulp_sum()},
                    {.row = [](LogSoftmaxGradientRow<UpperBound>& row) { row.terms = 1; }});
}

TEST(PlantedLogGradientBound, WithoutTheExponentialsErrorIsRejected) {
  expect_log_needed("exp=E:50,A:1", Format::f32, {{"exponential", {-0.5, -1}, {4, -0.5}}},
                    {.contract = [](Contract& contract) { contract.exp_error = 1; }});
}

TEST(PlantedLogGradientBound, WithoutTheArgumentsErrorIsRejected) {
  expect_log_needed("exp=E:1,A:50", Format::f32, {{"argument", {-30, -1}, {0, 1000}}},
                    {.contract = [](Contract& contract) { contract.exp_argument_error = 1; }});
}

TEST(PlantedLogGradientBound, WithoutTheTotalsRoundingsIsRejected) {
  expect_log_needed("exp=E:50,A:1", Format::f32, {{"total", {-0.5, -1}, {4, 0}}},
                    {.row = [](LogSoftmaxGradientRow<UpperBound>& row) { row.total_magnitude = UpperBound(); }});
}

TEST(PlantedLogGradientBound, WithoutTheResultsOwnSizeIsRejected) {
  expect_log_needed("exp=0.5ulp", Format::f32, {{"result", {-16.2, -18}, {1, 0x1p-20}}}, {.without_result = true});
}

TEST(PlantedLogGradientBound, WithoutTheReadingsIsRejected) {
  expect_log_needed("acc=bf16", Format::f32, {{"reading", {-60.1015625, -1}, {0, 1000}}},
                    {.contract = [](Contract& contract) { contract.input = Format::bf16; }});
}

}  // namespace
}  // namespace softcheck::numerics
