// B12 and B13 against simulated kernels: no error exceeds its bound, and each of their terms is needed.

#include "numerics/rounding_gradient.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <iostream>
#include <vector>

#include "numerics/softmax_gradient.hpp"
#include "proptests/tests/numerics/bound_ratio.hpp"
#include "proptests/tests/numerics/gradient_rows.hpp"
#include "proptests/tests/numerics/simulated_gradient.hpp"

namespace softcheck::numerics {
namespace {

using simulated::Arithmetic;
using simulated::Errors;
using simulated::GradientForm;
using tests::GradientRow;

struct GradientSetting {
  Format input;
  const char* words;
};

const std::vector<GradientSetting> gradient_settings{
    {Format::f32, "acc=f32 exp=1ulp sum=sequential"},
    {Format::f32, "acc=f32 exp=1ulp sum=lanes:8 subnormal=kept"},
    {Format::f32, "acc=f32 exp=E:50,A:3 sum=blocks:64"},
    {Format::f64, "acc=f64 exp=1ulp sum=lanes:4"},
    {Format::f16, "acc=f32 exp=1ulp sum=tree products=f16"},
    {Format::bf16, "acc=f32 exp=1ulp sum=tree products=bf16 subnormal=flushed"},
    {Format::bf16, "acc=bf16 exp=1ulp sum=tree"},
    {Format::f16, "acc=f16 exp=1ulp sum=lanes:8"},
    {Format::f32, "acc=bf16 exp=1ulp sum=blocks:8"},
};

UpperBound above(const Enclosure& x) { return UpperBound(std::max(x.upper_double(), 0.0)); }

double b12(const Contract& contract, const SoftmaxGradientOracle& oracle, const GradientRow& row, std::size_t j) {
  const SoftmaxGradientThreshold<UpperBound> threshold(contract, oracle.row<UpperBound>());
  return upper(
      threshold
          .element(UpperBound(std::fabs(row.y[j])), UpperBound(std::fabs(row.g[j])), above(abs(oracle.gradient(j))))
          .total());
}

double b13(const Contract& contract, const LogSoftmaxGradientOracle& oracle, const GradientRow& row, std::size_t j) {
  const LogSoftmaxGradientThreshold<UpperBound> threshold(contract, oracle.row<UpperBound>());
  return upper(threshold
                   .element(above(oracle.power(j)), UpperBound(std::isinf(row.y[j]) ? 0 : std::fabs(row.y[j])),
                            UpperBound(std::fabs(row.g[j])), above(abs(oracle.gradient(j))))
                   .total());
}

// Does the kernel overflow on its way? No overflow is granted.
bool fits(const Contract& contract, double magnitude) {
  const double largest = std::min(properties(contract.accumulator).largest, properties(contract.output).largest);
  const double stored = contract.products ? properties(*contract.products).largest : largest;
  return 4 * magnitude < std::min(largest, stored);
}

class GradientBounds : public testing::TestWithParam<std::size_t> {};

TEST_P(GradientBounds, HoldOfSoftmax) {
  const PrecisionScope scope(113);
  const GradientSetting& setting = gradient_settings[GetParam()];
  const Contract contract = parse_contract(setting.words, setting.input, setting.input);
  double share = 0;
  for (const std::size_t n : {1, 2, 3, 4, 5, 8, 9, 33, 300}) {
    for (std::uint64_t seed = 0; seed < (n < 10 ? 40u : 2u); ++seed) {
      for (const GradientRow& row : tests::gradient_rows(setting.input, n, seed)) {
        const SoftmaxGradientOracle oracle(row.y, row.g);
        const double most = *std::max_element(row.g.begin(), row.g.end(),
                                              [](double a, double b) { return std::fabs(a) < std::fabs(b); });
        if (!fits(contract, oracle.product_magnitude().upper_double() + 3 * std::fabs(most))) continue;
        for (const GradientForm form : {GradientForm::centred, GradientForm::expanded}) {
          const auto got = simulated::softmax_gradient(Arithmetic(contract, Errors::nearest), row.y, row.g, form);
          for (std::size_t j = 0; j < n; j += 1 + n / 8) {
            const double bound = b12(contract, oracle, row, j);
            share = std::max(share, simulated::used(got[j], oracle.gradient(j), bound));
            ASSERT_TRUE(simulated::holds(got[j], oracle.gradient(j), bound))
                << setting.words << ", " << row.name << ", item " << j << ", form " << static_cast<int>(form);
          }
        }
      }
    }
  }
  std::cout << setting.words << " of " << properties(setting.input).name << ": largest error/bound B12 " << share
            << '\n';
  EXPECT_GT(share, 0.4);
}

TEST_P(GradientBounds, HoldOfLogSoftmax) {
  const PrecisionScope scope(113);
  const GradientSetting& setting = gradient_settings[GetParam()];
  const Contract contract = parse_contract(setting.words, setting.input, setting.input);
  double share = 0;
  for (const std::size_t n : {1, 2, 3, 4, 5, 8, 9, 33, 300}) {
    for (std::uint64_t seed = 0; seed < (n < 10 ? 20u : 2u); ++seed) {
      for (const GradientRow& row : tests::log_gradient_rows(setting.input, n, seed)) {
        const LogSoftmaxGradientOracle oracle(row.y, row.g);
        if (!fits(contract, 21 * oracle.upstream_magnitude().upper_double())) continue;
        for (const Errors errors : {Errors::nearest, Errors::up, Errors::down}) {
          Arithmetic arithmetic(contract, errors);
          const auto got = simulated::log_softmax_gradient(arithmetic, row.y, row.g);
          for (std::size_t j = 0; j < n; j += 1 + n / 8) {
            const double bound = b13(contract, oracle, row, j);
            share = std::max(share, simulated::used(got[j], oracle.gradient(j), bound));
            ASSERT_TRUE(simulated::holds(got[j], oracle.gradient(j), bound))
                << setting.words << ", " << row.name << ", item " << j << ", errors " << static_cast<int>(errors);
          }
        }
      }
    }
  }
  std::cout << setting.words << " of " << properties(setting.input).name << ": largest error/bound B13 " << share
            << '\n';
  EXPECT_GT(share, 0.4);
}

INSTANTIATE_TEST_SUITE_P(Contracts, GradientBounds, testing::Range<std::size_t>(0, gradient_settings.size()));

// Every addition rounds up by nearly half a unit in the last place of 1; the last item's gradient is -M.
GradientRow half_ulp_products(std::size_t others, int precision) {
  GradientRow row{"half ulps", std::vector<double>(others + 2, 1.0), std::vector<double>(others + 2)};
  const double over_half = std::ldexp(1 + 0x1p-6, -precision);
  std::fill(row.g.begin(), row.g.end(), over_half);
  row.g.front() = 1;
  row.g.back() = 0;
  return row;
}

TEST(GradientWitness, HalfUlpsReachTheBounds) {
  const PrecisionScope scope(113);
  struct Witness {
    Format format;
    const char* words;
    std::size_t others;
  };
  for (const Witness& w : {Witness{Format::f32, "acc=f32 subnormal=kept", 65536}, Witness{Format::bf16, "acc=bf16", 60},
                           Witness{Format::f16, "acc=f16", 500}}) {
    const Contract contract = parse_contract(w.words, w.format, w.format);
    GradientRow row = half_ulp_products(w.others, properties(contract.accumulator).precision);
    const std::size_t last = row.y.size() - 1;
    const SoftmaxGradientOracle oracle(row.y, row.g);
    const double got =
        simulated::softmax_gradient(Arithmetic(contract, Errors::nearest), row.y, row.g, GradientForm::centred)[last];
    const double share = simulated::used(got, oracle.gradient(last), b12(contract, oracle, row, last));
    EXPECT_TRUE(simulated::holds(got, oracle.gradient(last), b12(contract, oracle, row, last)));
    for (double& y : row.y) y = 0;  // e^y = 1
    const LogSoftmaxGradientOracle log_oracle(row.y, row.g);
    Arithmetic arithmetic(contract, Errors::up);
    const double log_got = simulated::log_softmax_gradient(arithmetic, row.y, row.g)[last];
    const double log_bound = b13(contract, log_oracle, row, last);
    const double log_share = simulated::used(log_got, log_oracle.gradient(last), log_bound);
    EXPECT_TRUE(simulated::holds(log_got, log_oracle.gradient(last), log_bound));
    std::cout << w.words << ": largest error/bound B12 " << share << ", B13 " << log_share << '\n';
    EXPECT_GT(share, 0.5) << w.words;
    EXPECT_GT(log_share, 0.5) << w.words;
  }
}

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

TEST(GradientWitness, ALogarithmFarBelowAllNumbersHasAFiniteBound) {
  // -1e30 is what some callers mask with; its argument errs by more than a double's exponent.
  const PrecisionScope scope(113);
  const Contract contract = parse_contract("exp=E:2,A:3", Format::f32, Format::f32);
  const GradientRow row{"masked by a number", {-1e30f, 0}, {1, 2}};
  const LogSoftmaxGradientOracle oracle(row.y, row.g);
  EXPECT_LT(b13(contract, oracle, row, 0), 1e-6);
}

}  // namespace
}  // namespace softcheck::numerics
