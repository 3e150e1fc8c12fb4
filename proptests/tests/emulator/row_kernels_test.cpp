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
#include "proptests/tests/emulator/exact_sums.hpp"

namespace softcheck::emulator_tests {
namespace {

using namespace kernels;
using emulator::Block;

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

template <class T>
void expect_statistics(const std::vector<T>& row, const std::string& name) {
  std::vector<T> found(4);
  ASSERT_TRUE(run_statistics(row, 1, found).clean());
  const ExactSums exact(row);
  EXPECT_EQ(found[0], exact.maximum) << name;
  for (int k = 0; k < 3; ++k) {
    EXPECT_LE(std::abs(found[1 + k] - exact.sums[k]), exact.allowed<T>(k)) << name << ", k = " << k;
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
  constexpr std::size_t million = std::size_t{1} << 20;
  for (const auto& [row, name] :
       {std::pair(std::vector<float>(million, 0.0F), "equal"), std::pair(random_row(million, 1, 5), "flat"),
        std::pair(random_row(million, 8, 5), "sharp"), std::pair(rising_row(million, 20), "rising")}) {
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
    EXPECT_LE(std::abs(entropy[0] - ExactSums(row).entropy()), promised_nats) << name;
    EXPECT_GE(entropy[0], 0);
  }
}

}  // namespace
}  // namespace softcheck::emulator_tests
