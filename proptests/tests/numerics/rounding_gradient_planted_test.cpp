// Compiled alone: what it simulates bears the names that other tests of bounds have.
// B12 and B13 with a term left out, each with a kernel that keeps its contract and breaks the wrong bound - while the
// right one holds.

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <random>
#include <vector>

#include "numerics/rounding/rounding_gradient.hpp"
#include "proptests/tests/numerics/gradient_bounds.hpp"

namespace softcheck::numerics {
namespace {

using simulated::half_ulp_products;
using simulated::LogSoftmaxGradient;
using simulated::SoftmaxGradient;
using tests::GradientRow;

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
}  // namespace softcheck::numerics
