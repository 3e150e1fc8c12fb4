// The row kernels on the emulator, except those of the tree: clean and with the same bits under every schedule, and the
// statistics against sums in long double. How well the ops keep their contracts is judged beside these tests.
#include "kernels/block/row_kernels.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <deque>
#include <functional>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "kernels/block/f64_rows.hpp"
#include "kernels/emulator/block.hpp"
#include "proptests/tests/kernels/loaded_kernel.hpp"

namespace softcheck::emulator_tests {
namespace {

// What a row's statistics must be, and how far they may be from it: kernels/block and the strict mode.

/// What the kernels promise of the entropy of a million items in f32.
constexpr long double promised_nats = 1e-6L;

/// Logits that rise slowly up to range: every thread's maximum rises with every group that it reads.
std::vector<float> rising_row(std::size_t n, double range) {
  std::vector<float> row;
  for (std::size_t i = 0; i < n; ++i) {
    row.push_back(static_cast<float>(range * static_cast<double>(i) / static_cast<double>(n)));
  }
  return row;
}

/// With D = m - x and w = exp(-D), the sums of w D^k; the first without a maximum's weight.
struct ExactSums {
  template <class T>
  explicit ExactSums(const std::vector<T>& row) : maximum(*std::ranges::max_element(row)) {
    for (const T x : row) {
      const long double d = maximum - x;
      long double term = std::exp(-d);
      for (int k = 0; k < 4; ++k) {
        add(term, k);
        term *= d;
      }
    }
    for (int k = 0; k < 4; ++k) sums[k] += rests[k];
  }

  long double sum() const { return 1 + sums[0]; }
  long double logsumexp() const { return maximum + std::log(sum()); }
  long double entropy() const { return std::log(sum()) + sums[1] / sum(); }

  /// How far the sum of w D^k as computed in T may be, u the unit roundoff: an item's exponential 2 u, its group of
  /// four 2, each power of D 3 (where a rise adds a power: the sum, d and their product), the result 2. Its
  /// argument u D. Rises: one by d loses u d for its argument and less than 2 u d of its factor, whose value and rest
  /// leave out what rounds in the tail of the exponential alone, |tail| about |r| <= min(d, ln(2) / 2), r itself, r and
  /// r^2 q; they add up to 3 u D. Compensated sums and products, and all else of second order, are u^2 for each of the
  /// rises and groups, n / 512: up to n = 2^20 a part in 1000.
  template <class T>
  long double allowed(int k) const {
    const long double total = k == 0 ? sum() : sums[k];
    return 1.001L * unit<T> * ((6 + 3 * k) * total + 3 * sums[k + 1]);
  }

  /// B5 in docs/tolerances.md: of m + ln S, the logarithm wrong by 2 u.
  template <class T>
  long double allowed_of_logsumexp() const {
    return allowed<T>(0) / sum() + 1.001L * unit<T> * (2 * std::log(sum()) + std::abs(logsumexp()));
  }

  template <class T>
  static constexpr long double unit = std::numeric_limits<T>::epsilon() / 2.0L;

  long double maximum, sums[4] = {-1, 0, 0, 0};

 private:
  /// Sums of numbers in f64 must not round a million times in a format eleven bits longer: each addition's rest is
  /// kept.
  void add(long double term, int k) {
    const long double before = sums[k];
    sums[k] += term;
    const long double added = sums[k] - before;
    rests[k] += (before - (sums[k] - added)) + (term - added);
  }
  long double rests[4] = {0, 0, 0, 0};
};

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

template <class Result, class Body>
emulator::LaunchReport launched(std::vector<Result>& results, Body body) {
  const std::span<std::byte> written = std::as_writable_bytes(std::span<Result>(results));
  return emulator::launch_under_all_schedules({2, row_threads, row_shared_bytes}, {&written, 1}, body);
}

/// In f64.
template <class Op>
emulator::LaunchReport run(const std::vector<double>& logits, std::int64_t rows, std::vector<double>& results,
                           const std::vector<std::uint8_t>* mask = nullptr) {
  RowArguments<Block, double> arguments;
  arguments.logits = logits_of(logits, rows, mask);
  arguments.results = {std::span<double>(results), static_cast<std::int64_t>(results.size()) / rows, 1};
  return launched(results, [&](Block& block) { F64Rows<Op>::run(block, arguments); });
}

/// results: (rows, 4), or (rows, 1) of the first one
template <class Element, class Result>
StatisticsArguments<Block, Element, Result> statistics_arguments(const std::vector<Element>& logits, std::int64_t rows,
                                                                 std::vector<Result>& results) {
  StatisticsArguments<Block, Element, Result> arguments;
  arguments.logits = logits_of(logits, rows, nullptr);
  const std::size_t of_row = results.size() / static_cast<std::size_t>(rows);
  for (std::size_t i = 0; i < of_row; ++i) {
    arguments.results[i] = {std::span<Result>(results).subspan(i), static_cast<std::int64_t>(of_row), 1};
  }
  return arguments;
}

template <class Kernel, class Element, class Result>
emulator::LaunchReport run_statistics(const std::vector<Element>& logits, std::int64_t rows,
                                      std::vector<Result>& results) {
  const auto arguments = statistics_arguments(logits, rows, results);
  return launched(results, [&](Block& block) { Kernel::run(block, arguments); });
}

template <class Element>
emulator::LaunchReport run_backward(const std::vector<Element>& logits, const std::vector<Element>& gradient,
                                    std::int64_t rows, std::vector<Element>& results,
                                    const std::vector<std::uint8_t>& mask) {
  const auto columns = static_cast<std::int64_t>(logits.size()) / rows;
  RowGradientArguments<Block, Element> arguments;
  arguments.logits = logits_of(logits, rows, &mask);
  arguments.results = {std::span<Element>(results), columns, 1};
  arguments.gradient = {std::span<const Element>(gradient), columns, 1};
  return launched(results, [&](Block& block) { AdaptiveSoftmaxBackwardKernel::run(block, arguments); });
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
    std::vector<TypeParam> of_rows(3);
    std::vector<T> statistics(12);
    const auto gradient = narrowed_to<TypeParam>(random_row(3 * n, 2, static_cast<unsigned>(n) + 1));
    std::vector<emulator::LaunchReport> reports = {run_statistics<VarentropyKernel>(logits, 3, of_rows),
                                                   run_statistics<RowStatisticsKernel>(logits, 3, statistics),
                                                   run_backward(logits, gradient, 3, elements, mask)};
    if constexpr (std::is_same_v<TypeParam, double>) {
      for (const auto& report :
           {run<tree::SoftmaxKernel>(logits, 3, elements), run<tree::SoftmaxKernel>(logits, 3, elements, &mask),
            run<tree::AdaptiveSoftmaxKernel>(logits, 3, elements), run<tree::EntropyKernel>(logits, 3, of_rows),
            run<tree::LogSoftmaxKernel>(logits, 3, elements, &mask), run<tree::LogsumexpKernel>(logits, 3, of_rows)}) {
        reports.push_back(report);
      }
    }
    for (const auto& report : reports) EXPECT_TRUE(report.clean()) << n << '\n' << report.text();
  }
}

template <class T>
void expect_statistics(const std::vector<T>& row, const std::vector<T>& found, const std::string& name) {
  const ExactSums exact(row);
  EXPECT_EQ(found[0], exact.maximum) << name;
  for (std::size_t k = 0; k < 3; ++k) {
    EXPECT_LE(std::abs(found[1 + k] - exact.sums[k]), exact.template allowed<T>(static_cast<int>(k)))
        << name << ", k = " << k;
  }
}

template <class T>
void expect_emulated_statistics(const std::vector<T>& row, const std::string& name) {
  std::vector<T> found(4);
  ASSERT_TRUE(run_statistics<RowStatisticsKernel>(row, 1, found).clean());
  expect_statistics(row, found, name);
}

TEST(RowStatistics, AreTheSumsWithinTheirRoundings) {
  for (const std::size_t n : {1U, 2U, 5U, 128U, 1000U, 20000U}) {
    std::vector<float> ramp(n), equal(n, 3.0F);
    for (std::size_t i = 0; i < n; ++i) ramp[i] = static_cast<float>(i) / 64;
    std::vector<float> falling(ramp.rbegin(), ramp.rend());
    for (const auto& [row, name] :
         {std::pair(random_row(n, 2, 1), "flat"), std::pair(random_row(n, 30, 2), "sharp"), std::pair(ramp, "ramp"),
          std::pair(falling, "falling"), std::pair(equal, "equal")}) {
      expect_emulated_statistics(row, name + (" n = " + std::to_string(n)));
      expect_emulated_statistics(std::vector<double>(row.begin(), row.end()), name + (" f64 n = " + std::to_string(n)));
    }
  }
}

constexpr std::size_t million = std::size_t{1} << 20;

// Of the emulated body; RisingMaxima has the strict one, more rows, and attention.
TEST(RowStatistics, OfAMillionRisingItemsAreTheSumsWithinTheirRoundings) {
  const std::vector<float> row = rising_row(million, 20);
  std::vector<float> found(4);
  const auto arguments = statistics_arguments(row, 1, found);
  ASSERT_TRUE(emulator::launch({1, row_threads, row_shared_bytes}, [&](Block& block) {
                RowStatisticsKernel::run(block, arguments);
              }).clean());
  expect_statistics(row, found, "rising");
}

using kernel_tests::dtype_of;

// Rows and scores that rise slowly, for which a maximum is replaced thousands of times by one that is nearly the same:
// factors that all err the same way would add up. Of the strict mode, whose bits are the emulated bodies'.

using F32 = kernel_tests::Tensor<float>;

/// The results of a strict kernel, count of them, one number each; outputs: those before.
std::vector<float> results_of(const std::string& op, const std::vector<const DLTensor*>& inputs,
                              const std::vector<std::int64_t>& shape, std::size_t count,
                              std::vector<DLTensor*> outputs = {}) {
  std::deque<F32> results;
  for (std::size_t i = 0; i < count; ++i) outputs.push_back(&results.emplace_back(dtype_of<float>(), shape).view);
  const softcheck_kernel kernel = kernel_tests::load_kernel("softcheck_strict_kernels", "softcheck_strict_" + op);
  EXPECT_TRUE(kernel_tests::takes_call(kernel, inputs, outputs, 1, false)) << op;
  std::vector<float> numbers;
  for (const F32& result : results) numbers.push_back(result.elements[0]);
  return numbers;
}

constexpr double ranges[] = {5, 20, 60};

TEST(RisingMaxima, OfARowLeaveItsSumsExact) {
  for (const double range : ranges) {
    const std::vector<float> row = rising_row(million, range);
    F32 logits(dtype_of<float>(), {1, static_cast<std::int64_t>(million)});
    logits.set_row(0, row);
    expect_statistics(row, results_of("row_statistics", {&logits.view}, {1}, 4), "up to " + std::to_string(range));
  }
}

// Of the kernel whose maximum does not rise: it comes first.
TEST(RowEntropy, OfAMillionItemsIsWithinAMillionthOfANat) {
  for (const auto& [row, name] :
       {std::pair(std::vector<float>(million, 0.0F), "equal"), std::pair(random_row(million, 1, 5), "flat"),
        std::pair(random_row(million, 8, 5), "sharp"), std::pair(rising_row(million, 20), "rising")}) {
    F32 logits(dtype_of<float>(), {1, static_cast<std::int64_t>(million)});
    logits.set_row(0, row);
    const float entropy = results_of("entropy", {&logits.view}, {1}, 1)[0];
    EXPECT_LE(std::abs(entropy - ExactSums(row).entropy()), promised_nats) << name;
    EXPECT_GE(entropy, 0) << name;
  }
}

TEST(RisingMaxima, OfAQuerysScoresLeaveItsNumbersExact) {
  constexpr std::int64_t n = std::int64_t{1} << 17;
  for (const double range : ranges) {
    const ExactSums exact(rising_row(n, range));
    F32 q(dtype_of<float>(), {1, 1, 1, 1}), k(dtype_of<float>(), {1, 1, n, 1}), v(dtype_of<float>(), {1, 1, n, 1}),
        out(dtype_of<float>(), q.shape);
    q.elements[0] = 1;
    k.elements = rising_row(n, range);
    k.view.data = k.elements.data();
    std::ranges::fill(v.elements, 1.0F);
    for (const std::string op : {"attention", "split_attention"}) {
      const std::vector<float> found = results_of(op, {&q.view, &k.view, &v.view}, {1, 1, 1}, 2, {&out.view});
      EXPECT_LE(std::abs(found[0] - exact.logsumexp()), exact.allowed_of_logsumexp<float>()) << op << " " << range;
      EXPECT_LE(std::abs(found[1] - exact.entropy()), promised_nats) << op << " " << range;
      // The weights' sum over the weights' sum: each may be wrong, and a reciprocal and a product round.
      EXPECT_LE(std::abs(out.elements[0] - 1), 2 * exact.allowed<float>(0) / exact.sum() + 2 * exact.unit<float>)
          << op << " " << range;
    }
    const std::vector<float> statistics = results_of("attention_statistics", {&q.view, &k.view}, {1, 1, 1}, 4);
    for (int i = 0; i < 3; ++i) {
      EXPECT_LE(std::abs(statistics[static_cast<std::size_t>(i) + 1] - exact.sums[i]), exact.allowed<float>(i))
          << "attention_statistics, k = " << i << ", up to " << range;
    }
  }
}

}  // namespace
}  // namespace softcheck::emulator_tests
