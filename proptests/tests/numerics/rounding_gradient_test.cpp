// B12 and B13 against simulated kernels: no error exceeds its bound.
#include "numerics/rounding/rounding_gradient.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <functional>
#include <random>
#include <vector>

#include "numerics/oracles/softmax_gradient.hpp"
#include "proptests/tests/numerics/bound_shares.hpp"
#include "proptests/tests/numerics/row_families.hpp"

namespace softcheck::numerics::simulated {

/// y (g - M), or y g - y M with the products of the sum.
enum class GradientForm { centred, expanded };

/// A kernel of softmax's gradient in a simulated arithmetic.
inline std::vector<double> softmax_gradient(const Arithmetic& a, std::span<const double> y, std::span<const double> g,
                                            GradientForm form) {
  std::vector<double> products;
  for (std::size_t i = 0; i < y.size(); ++i) {
    products.push_back(a.stored(a.contract().products, a.multiply(a.round(y[i]), a.round(g[i]))));
  }
  const double mean = sum_in_order(a, products);
  std::vector<double> gradient;
  for (std::size_t i = 0; i < y.size(); ++i) {
    const double weight = a.round(y[i]);
    gradient.push_back(a.output(form == GradientForm::centred ? a.multiply(weight, a.subtract(a.round(g[i]), mean))
                                                              : a.subtract(products[i], a.multiply(weight, mean))));
  }
  return gradient;
}

/// The matrix of y_i [i = j] - y_i y_j times g.
inline std::vector<double> softmax_gradient_by_jacobian(const Arithmetic& a, std::span<const double> y,
                                                        std::span<const double> g) {
  std::vector<double> gradient;
  for (std::size_t i = 0; i < y.size(); ++i) {
    std::vector<double> terms;
    for (std::size_t j = 0; j < y.size(); ++j) {
      const double product = a.stored(a.contract().products, a.multiply(a.round(y[i]), a.round(y[j])));
      const double entry = i == j ? a.subtract(a.round(y[i]), product) : -product;
      terms.push_back(a.stored(a.contract().products, a.multiply(entry, a.round(g[j]))));
    }
    gradient.push_back(a.output(sum_in_order(a, terms)));
  }
  return gradient;
}

/// A kernel of log-softmax's gradient, g - e^y T.
inline std::vector<double> log_softmax_gradient(Arithmetic& a, std::span<const double> y, std::span<const double> g) {
  std::vector<double> terms;
  for (const double x : g) terms.push_back(a.round(x));
  const double total = sum_in_order(a, terms);
  std::vector<double> gradient;
  for (std::size_t i = 0; i < y.size(); ++i) {
    const double power = std::isinf(y[i]) ? 0 : a.exponential(a.round(y[i]));
    gradient.push_back(a.output(a.subtract(terms[i], a.multiply(power, total))));
  }
  return gradient;
}

/// B12: softmax's gradient, its kernels, and what they reach on the way.
struct SoftmaxGradient {
  static constexpr const char* bound = "B12";
  static constexpr auto rows = tests::gradient_rows;
  using Oracle = SoftmaxGradientOracle;
  using Row = SoftmaxGradientRow<UpperBound>;
  using Threshold = SoftmaxGradientThreshold<UpperBound>;

  static std::vector<std::vector<double>> kernels(const Contract& contract, const tests::GradientRow& row) {
    const Arithmetic arithmetic(contract, Errors::nearest);
    if (contract.gradient == numerics::GradientForm::jacobian) {
      return {softmax_gradient_by_jacobian(arithmetic, row.y, row.g)};
    }
    return {softmax_gradient(arithmetic, row.y, row.g, GradientForm::centred),
            softmax_gradient(arithmetic, row.y, row.g, GradientForm::expanded)};
  }
  static double magnitude(const Oracle& oracle, const tests::GradientRow& row) {
    double most = 0;
    for (const double g : row.g) most = std::max(most, std::fabs(g));
    return oracle.product_magnitude().upper_double() + 3 * most;
  }
  static double threshold(const Threshold& of, const Oracle&, const tests::GradientRow& row, std::size_t j,
                          const UpperBound& upstream, const UpperBound& result) {
    return upper(of.element(UpperBound(std::fabs(row.y[j])), upstream, result).total());
  }
};

/// B13: log-softmax's gradient.
struct LogSoftmaxGradient {
  static constexpr const char* bound = "B13";
  static constexpr auto rows = tests::log_gradient_rows;
  using Oracle = LogSoftmaxGradientOracle;
  using Row = LogSoftmaxGradientRow<UpperBound>;
  using Threshold = LogSoftmaxGradientThreshold<UpperBound>;

  static std::vector<std::vector<double>> kernels(const Contract& contract, const tests::GradientRow& row) {
    std::vector<std::vector<double>> results;
    for (const Errors errors : {Errors::nearest, Errors::up, Errors::down}) {
      Arithmetic arithmetic(contract, errors);
      results.push_back(log_softmax_gradient(arithmetic, row.y, row.g));
    }
    return results;
  }
  static double magnitude(const Oracle& oracle, const tests::GradientRow&) {
    return 21 * oracle.upstream_magnitude().upper_double();
  }
  static double threshold(const Threshold& of, const Oracle& oracle, const tests::GradientRow& row, std::size_t j,
                          const UpperBound& upstream, const UpperBound& result) {
    const UpperBound argument(std::isinf(row.y[j]) ? 0 : std::fabs(row.y[j]));
    return upper(of.element(above(oracle.power(j)), argument, upstream, result).total());
  }
};

/// B12 or B13 of one item of a row.
template <class Gradient>
double gradient_bound(const Contract& contract, const typename Gradient::Oracle& oracle, const tests::GradientRow& row,
                      std::size_t j) {
  const typename Gradient::Threshold of(contract, oracle.template row<UpperBound>());
  return Gradient::threshold(of, oracle, row, j, UpperBound(std::fabs(row.g[j])), above(abs(oracle.gradient(j))));
}

/// Every addition rounds up by nearly half a unit in the last place of 1; the last item's gradient is -M.
inline tests::GradientRow half_ulp_products(std::size_t others, int precision, double output = 1) {
  tests::GradientRow row{"half ulps", std::vector<double>(others + 2, output), std::vector<double>(others + 2)};
  const double over_half = std::ldexp(1 + 0x1p-6, -precision);
  std::fill(row.g.begin(), row.g.end(), over_half);
  row.g.front() = 1;
  row.g.back() = 0;
  return row;
}

}  // namespace softcheck::numerics::simulated

namespace softcheck::numerics::gradient_test {
namespace {

using simulated::LogSoftmaxGradient;
using simulated::SoftmaxGradient;
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
    {Format::f32, "acc=f32 sum=sequential gradient=jacobian"},
    {Format::bf16, "acc=f32 sum=tree products=bf16 subnormal=flushed gradient=jacobian"},
};

// Does the kernel overflow on its way? No overflow is granted.
bool fits(const Contract& contract, double magnitude) {
  const double largest = std::min(properties(contract.accumulator).largest, properties(contract.output).largest);
  const double stored = contract.products ? properties(*contract.products).largest : largest;
  return 4 * magnitude < std::min(largest, stored);
}

// Rows of several seeds: as many of short ones as is said.
template <class Gradient>
void expect_gradients_within(const GradientSetting& setting, std::uint64_t short_seeds) {
  const std::vector<simulated::BoundSetting> settings{{setting.input, setting.input, setting.words, 0.4}};
  const auto rows_of = [&](Format format, std::size_t n) {
    std::vector<GradientRow> rows;
    for (std::uint64_t seed = 0; seed < (n < 10 ? short_seeds : 2); ++seed) {
      for (GradientRow& row : Gradient::rows(format, n, seed)) rows.push_back(std::move(row));
    }
    return rows;
  };
  const auto check = [](const Contract& contract, const GradientRow& row, simulated::BoundShares& shares) {
    SCOPED_TRACE(row.name);
    const typename Gradient::Oracle oracle(row.y, row.g);
    if (!fits(contract, Gradient::magnitude(oracle, row))) return;
    const std::size_t n = row.y.size();
    for (const std::vector<double>& got : Gradient::kernels(contract, row)) {
      for (std::size_t j = 0; j < n; j += 1 + n / 8) {
        const double bound = simulated::gradient_bound<Gradient>(contract, oracle, row, j);
        shares.judge(Gradient::bound, got[j], oracle.gradient(j), bound);
      }
    }
  };
  simulated::expect_bounds(settings, {1, 2, 3, 4, 5, 8, 9, 33, 300}, rows_of, check);
}

class GradientBounds : public testing::TestWithParam<std::size_t> {};

TEST_P(GradientBounds, HoldOfSoftmax) { expect_gradients_within<SoftmaxGradient>(gradient_settings[GetParam()], 40); }

TEST_P(GradientBounds, HoldOfLogSoftmax) {
  expect_gradients_within<LogSoftmaxGradient>(gradient_settings[GetParam()], 20);
}

INSTANTIATE_TEST_SUITE_P(Contracts, GradientBounds, testing::Range<std::size_t>(0, gradient_settings.size()));

template <class Gradient>
void expect_last_reached(const Contract& contract, const GradientRow& row, std::size_t kernel) {
  const std::size_t last = row.y.size() - 1;
  const typename Gradient::Oracle oracle(row.y, row.g);
  simulated::expect_reached(Gradient::bound, Gradient::kernels(contract, row)[kernel][last], oracle.gradient(last),
                            simulated::gradient_bound<Gradient>(contract, oracle, row, last), 0.5);
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
    SCOPED_TRACE(w.words);
    const Contract contract = parse_contract(w.words, w.format, w.format);
    const int precision = properties(contract.accumulator).precision;
    expect_last_reached<SoftmaxGradient>(contract, simulated::half_ulp_products(w.others, precision), 0);
    // e^0 = 1, whose exponential errs upwards.
    expect_last_reached<LogSoftmaxGradient>(contract, simulated::half_ulp_products(w.others, precision, 0), 1);
  }
}

TEST(GradientWitness, ALogarithmFarBelowAllNumbersHasAFiniteBound) {
  // -1e30 is what some callers mask with; its argument errs by more than a double's exponent.
  const PrecisionScope scope(113);
  const Contract contract = simulated::f32_contract("exp=E:2,A:3");
  const GradientRow row{"masked by a number", {-1e30f, 0}, {1, 2}};
  const LogSoftmaxGradientOracle oracle(row.y, row.g);
  EXPECT_LT(simulated::gradient_bound<LogSoftmaxGradient>(contract, oracle, row, 0), 1e-6);
}

using simulated::half_ulp_products;

// B12 and B13 with a term left out, each with a kernel that keeps its contract and breaks the wrong bound - while the
// right one holds.

// What is left out of a bound.
template <class Gradient>
struct Left {
  std::function<void(Contract&)> contract = [](Contract&) {};
  std::function<void(typename Gradient::Row&)> row = [](typename Gradient::Row&) {};
  bool without_upstream = false, without_result = false;
  Format input = Format::f32, output = Format::f32;
};

// The right bound holds for all rows, the wrong one is certainly exceeded on one.
template <class Gradient>
void expect_exceeded(const char* words, const std::vector<GradientRow>& rows, const Left<Gradient>& left) {
  const PrecisionScope scope(113);
  const Contract contract = parse_contract(words, left.input, left.output);
  Contract wrong_contract = contract;
  left.contract(wrong_contract);
  simulated::BoundShares shares;
  for (const GradientRow& row : rows) {
    const typename Gradient::Oracle oracle(row.y, row.g);
    auto wrong_row = oracle.template row<UpperBound>();
    left.row(wrong_row);
    const typename Gradient::Threshold wrong(wrong_contract, wrong_row);
    for (const std::vector<double>& got : Gradient::kernels(contract, row)) {
      for (std::size_t j = 0; j < row.y.size(); j += 1 + row.y.size() / 8) {
        const Enclosure exact = oracle.gradient(j);
        shares.judge(Gradient::bound, got[j], exact, simulated::gradient_bound<Gradient>(contract, oracle, row, j));
        const UpperBound upstream(left.without_upstream ? 0 : std::fabs(row.g[j]));
        const UpperBound result = left.without_result ? UpperBound() : simulated::above(abs(exact));
        shares.judge_wrong(got[j], exact, Gradient::threshold(wrong, oracle, row, j, upstream, result));
      }
    }
  }
  EXPECT_GT(shares.exceeded(), 0u);
  shares.print(words);
}

using Rows = std::vector<GradientRow>;

void rejected(const char* name, const char* words, const Rows& rows, const Left<SoftmaxGradient>& left) {
  simulated::add_test("PlantedGradientBound", name, [=] { expect_exceeded(words, rows, left); });
}
void rejected_log(const char* name, const char* words, const Rows& rows, const Left<LogSoftmaxGradient>& left) {
  simulated::add_test("PlantedLogGradientBound", name, [=] { expect_exceeded(words, rows, left); });
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

[[maybe_unused]] const bool registered = [] {
  using Row = SoftmaxGradientRow<UpperBound>;
  const auto read_as_bf16 = [](Contract& contract) { contract.input = Format::bf16; };
  const Rows wide = pairs(Format::f32);
  rejected("WithoutTheHeightIsRejected", "subnormal=kept", {half_ulp_products(4096, 24)},
           {.row = [](Row& row) { row.terms = 1; }});
  rejected("WithoutTheProductsOwnRoundingIsRejected", "", wide,
           {.row = [](Row& row) { row.product_magnitude = UpperBound(); }});
  rejected("WithoutTheMeansRoundingsIsRejected", "", wide,
           {.row = [](Row& row) { row.mean_magnitude = UpperBound(); }});
  rejected("WithoutTheUpstreamGradientIsRejected", "", wide, {.without_upstream = true});
  rejected("WithoutTheStoredProductsIsRejected", "products=bf16", pairs(Format::bf16),
           {.contract = [](Contract& contract) { contract.products.reset(); }, .input = Format::bf16});
  rejected("WithoutTheReadingsIsRejected", "acc=bf16", wide, {.contract = read_as_bf16});
  rejected("WithoutTheOutputIsRejected", "", wide, {.without_result = true, .output = Format::bf16});
  // A coefficient of 2^-130 is read as 0 and meets a gradient of 1000.
  rejected("WithoutWhatReadingFlushesIsRejected", "subnormal=flushed", {{"subnormal", {0x1p-130, 0.5}, {1000, 0.25}}},
           {.contract = [](Contract& contract) { contract.subnormals = Subnormals::kept; }});

  using LogRow = LogSoftmaxGradientRow<UpperBound>;
  rejected_log("WithoutTheHeightIsRejected", "exp=0.5ulp subnormal=kept", {half_ulp_products(4096, 24, 0)},
               {.row = [](LogRow& row) { row.terms = 1; }});
  rejected_log("WithoutTheExponentialsErrorIsRejected", "exp=E:50,A:1", {{"exponential", {-0.5, -1}, {4, -0.5}}},
               {.contract = [](Contract& contract) { contract.exp_error = 1; }});
  rejected_log("WithoutTheArgumentsErrorIsRejected", "exp=E:1,A:50", {{"argument", {-30, -1}, {0, 1000}}},
               {.contract = [](Contract& contract) { contract.exp_argument_error = 1; }});
  rejected_log("WithoutTheTotalsRoundingsIsRejected", "exp=E:50,A:1", {{"total", {-0.5, -1}, {4, 0}}},
               {.row = [](LogRow& row) { row.total_magnitude = UpperBound(); }});
  rejected_log("WithoutTheResultsOwnSizeIsRejected", "exp=0.5ulp", {{"result", {-16.2, -18}, {1, 0x1p-20}}},
               {.without_result = true});
  rejected_log("WithoutTheReadingsIsRejected", "acc=bf16", {{"reading", {-60.1015625, -1}, {0, 1000}}},
               {.contract = read_as_bf16});
  return true;
}();

}  // namespace
}  // namespace softcheck::numerics::gradient_test
