// The row kernels on the emulator: clean and with the same bits under every schedule, and the statistics against sums
// in long double. How well softmax, entropy and adaptive softmax keep their contracts is judged beside these tests.
#include "kernels/block/row_kernels.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include "kernels/emulator/block.hpp"

namespace softcheck::emulator_tests {
namespace {

using namespace kernels;
using emulator::Block;

template <class T>
constexpr long double unit = std::numeric_limits<T>::epsilon() / 2.0L;

template <class T>
std::vector<T> narrowed_to(const std::vector<float>& values) {
  std::vector<T> narrow;
  for (const float x : values) narrow.push_back(narrowed<T>(x));
  return narrow;
}

std::vector<float> random_row(std::size_t n, float spread, unsigned seed) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<float> logit(-spread, spread);
  std::vector<float> row(n);
  for (float& x : row) x = logit(random);
  return row;
}

template <class Element>
Logits<Block, Element> logits_of(const std::vector<Element>& values, std::int64_t rows,
                                 const std::vector<std::uint8_t>* mask) {
  const auto columns = static_cast<std::int64_t>(values.size()) / rows;
  Logits<Block, Element> logits;
  logits.values = {std::span<const Element>(values), columns, 1};
  if (mask != nullptr) logits.mask = {std::span<const std::uint8_t>(*mask), columns, 1};
  logits.masked = mask != nullptr;
  logits.rows = rows;
  logits.columns = columns;
  return logits;
}

template <class Element, class Result, class Body>
emulator::LaunchReport launched(std::vector<Result>& results, Body body) {
  const std::span<std::byte> written = std::as_writable_bytes(std::span<Result>(results));
  return emulator::launch_under_all_schedules({2, row_threads, row_backward_bytes<Accumulator<Element>>}, {&written, 1},
                                              body);
}

template <class Kernel, class Element, class Result>
emulator::LaunchReport run(const std::vector<Element>& logits, std::int64_t rows, std::vector<Result>& results,
                           const std::vector<std::uint8_t>* mask = nullptr) {
  RowArguments<Block, Element, Result> arguments;
  arguments.logits = logits_of(logits, rows, mask);
  arguments.results = {std::span<Result>(results), static_cast<std::int64_t>(results.size()) / rows, 1};
  return launched<Element>(results, [&](Block& block) { Kernel::run(block, arguments); });
}

/// results: (rows, 4)
template <class Element, class Result>
emulator::LaunchReport run_statistics(const std::vector<Element>& logits, std::int64_t rows,
                                      std::vector<Result>& results) {
  StatisticsArguments<Block, Element, Result> arguments;
  arguments.logits = logits_of(logits, rows, nullptr);
  for (std::size_t i = 0; i < 4; ++i) arguments.results[i] = {std::span<Result>(results).subspan(i), 4, 1};
  return launched<Element>(results, [&](Block& block) { RowStatisticsKernel::run(block, arguments); });
}

template <class Element>
emulator::LaunchReport run_backward(const std::vector<Element>& logits, const std::vector<Element>& gradient,
                                    std::int64_t rows, std::vector<Element>& results,
                                    const std::vector<std::uint8_t>& mask) {
  const auto columns = static_cast<std::int64_t>(logits.size()) / rows;
  RowGradientArguments<Block, Element> arguments;
  arguments.forward.logits = logits_of(logits, rows, &mask);
  arguments.forward.results = {std::span<Element>(results), columns, 1};
  arguments.gradient = {std::span<const Element>(gradient), columns, 1};
  return launched<Element>(results, [&](Block& block) { adaptive_softmax_backward_body(block, arguments); });
}

template <class Element>
class RowKernels : public testing::Test {};
using Elements = testing::Types<float, double, Half, BFloat>;
TYPED_TEST_SUITE(RowKernels, Elements);

TYPED_TEST(RowKernels, AreCleanAndTheSameUnderEverySchedule) {
  using T = Accumulator<TypeParam>;
  for (const std::size_t n : {1U, 3U, 127U, 512U, 513U, 1500U}) {
    const auto logits = narrowed_to<TypeParam>(random_row(3 * n, 9, static_cast<unsigned>(n)));
    std::vector<std::uint8_t> mask(logits.size());
    for (std::size_t i = 0; i < mask.size(); ++i) mask[i] = i % 5 != 2;
    std::vector<TypeParam> elements(logits.size());
    std::vector<TypeParam> entropies(3);
    std::vector<T> statistics(12);
    const auto gradient = narrowed_to<TypeParam>(random_row(3 * n, 2, static_cast<unsigned>(n) + 1));
    for (const auto& report :
         {run<SoftmaxKernel>(logits, 3, elements), run<SoftmaxKernel>(logits, 3, elements, &mask),
          run<AdaptiveSoftmaxKernel>(logits, 3, elements), run<EntropyKernel>(logits, 3, entropies),
          run<LogSoftmaxKernel>(logits, 3, elements, &mask), run<LogsumexpKernel>(logits, 3, entropies),
          run<VarentropyKernel>(logits, 3, entropies), run_statistics(logits, 3, statistics),
          run_backward(logits, gradient, 3, elements, mask)}) {
      EXPECT_TRUE(report.clean()) << n << '\n' << report.text();
    }
  }
}

struct Moments {
  long double maximum = 0, sums[4] = {0, 0, 0, 0};  // of w D^k; the first without the maximum's
};

template <class T>
Moments moments_of(const std::vector<T>& row) {
  Moments moments;
  moments.maximum = *std::ranges::max_element(row);
  moments.sums[0] = -1;
  for (const T x : row) {
    const long double d = moments.maximum - x;
    long double term = std::exp(-d);
    for (long double& sum : moments.sums) {
      sum += term;
      term *= d;
    }
  }
  return moments;
}

// How far the kernel's sum of w D^k may lie from the exact one, to first order, u the unit roundoff, R the rises of a
// maximum on an item's way: its exponential 2 u, its argument u D, each power of D two roundings, its group of four 2,
// the compensated sums and the result 2; each rise an exponential, a product, an added 1, and for each power three
// more. Deviations telescope over the rises. A part in 1000 covers the second order.
template <class T>
long double allowed(const Moments& exact, int k, std::size_t n) {
  const std::size_t groups = (n + 511) / 512;
  const auto rises = static_cast<long double>(std::min(n - 1, groups + 7));
  const long double own = 6 + 2 * k + rises * (4 + 3 * k);
  const long double total = exact.sums[k] + (k == 0 ? 1 : 0);
  return 1.001L * unit<T> * (own * total + exact.sums[k + 1]);
}

template <class T>
void expect_statistics(const std::vector<T>& row, const std::string& name) {
  std::vector<T> found(4);
  ASSERT_TRUE(run_statistics(row, 1, found).clean());
  const Moments exact = moments_of(row);
  EXPECT_EQ(found[0], exact.maximum) << name;
  for (int k = 0; k < 3; ++k) {
    EXPECT_LE(std::abs(found[1 + k] - exact.sums[k]), allowed<T>(exact, k, row.size())) << name << ", k = " << k;
  }
}

TEST(RowStatistics, AreTheSumsWithinTheirRoundings) {
  for (const std::size_t n : {1U, 2U, 5U, 128U, 1000U, 20000U}) {
    std::vector<float> ramp(n), equal(n, 3.0F);
    for (std::size_t i = 0; i < n; ++i) ramp[i] = static_cast<float>(i) / 64;
    std::vector<float> falling(ramp.rbegin(), ramp.rend());
    for (const auto& [row, name] :
         {std::pair(random_row(n, 2, 1), "flat"), std::pair(random_row(n, 30, 2), "sharp"), std::pair(ramp, "ramp"),
          std::pair(falling, "falling"), std::pair(equal, "equal")}) {
      expect_statistics(row, name + (" n = " + std::to_string(n)));
      expect_statistics(std::vector<double>(row.begin(), row.end()), name + (" f64 n = " + std::to_string(n)));
    }
  }
}

// What the kernels promise: a million items within 1e-6 nats, and never below 0.
TEST(RowStatistics, EntropyOfAMillionItemsIsWithinAMillionthOfANat) {
  constexpr long double promised = 1e-6L;
  for (const float spread : {0.0F, 1.0F, 8.0F}) {
    const std::vector<float> row = random_row(std::size_t{1} << 20, std::max(spread, 1e-30F), 5);
    std::vector<float> entropy(1);
    RowArguments<Block, float, float> arguments;
    const auto n = static_cast<std::int64_t>(row.size());
    arguments.logits.values = {std::span<const float>(row), n, 1};
    arguments.logits.rows = 1;
    arguments.logits.columns = n;
    arguments.results = {std::span<float>(entropy), 1, 1};
    ASSERT_TRUE(emulator::launch({1, row_threads, row_shared_bytes<float>}, [&](Block& block) {
                  EntropyKernel::run(block, arguments);
                }).clean());
    const Moments exact = moments_of(row);
    const long double sum = 1 + exact.sums[0];
    EXPECT_LE(std::abs(entropy[0] - (std::log(sum) + exact.sums[1] / sum)), promised) << spread;
    EXPECT_GE(entropy[0], 0);
  }
}

}  // namespace
}  // namespace softcheck::emulator_tests
