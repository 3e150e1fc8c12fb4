// The strict mode: the CPU's row kernels of kernels/strict have the bits of the emulated ones, on every instruction set
// (the suite runs again with SOFTCHECK_MAX_ISA), and kernels that differ in one operation do not.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <deque>
#include <random>

#include "kernels/block/row_kernels.hpp"
#include "kernels/emulator/block.hpp"
#include "proptests/tests/emulator/strict_formats.hpp"

namespace softcheck::emulator_tests {
namespace {

using namespace kernels;
using kernel_tests::Tensor;

enum class Rows { flat, sharp, rising, falling, equal, zeros, hidden, all_hidden, with_nan, with_infinity, tiny, huge };
constexpr Rows all_rows[] = {Rows::flat,     Rows::sharp,         Rows::rising, Rows::falling,
                             Rows::equal,    Rows::zeros,         Rows::hidden, Rows::all_hidden,
                             Rows::with_nan, Rows::with_infinity, Rows::tiny,   Rows::huge};

double logit(Rows kind, std::int64_t i, std::int64_t n, std::mt19937& random) {
  const double x = std::uniform_real_distribution<double>(-1, 1)(random);
  const bool at_random = random() % 7 == 0;
  switch (kind) {
    case Rows::flat:
      return x;
    case Rows::sharp:
      return 40 * x;
    case Rows::rising:
      return 0.03 * static_cast<double>(i);
    case Rows::falling:
      return -0.03 * static_cast<double>(i);
    case Rows::equal:
      return 3;
    case Rows::zeros:
      return std::copysign(0.0, x);
    case Rows::hidden:
      return at_random ? -INFINITY : 9 * x;
    case Rows::all_hidden:
      return -INFINITY;
    case Rows::with_nan:
      return i == n / 2 ? std::nan("") : 9 * x;
    case Rows::with_infinity:
      return i == n - 1 ? INFINITY : 9 * x;
    case Rows::tiny:
      return x * (at_random ? 0x1p-149 : 0x1p-1060);
    case Rows::huge:
      return x * (at_random ? 3e38 : 1);
  }
  return 0;
}

/// How many results of a row a call asks for, none of an op whose results are one an item.
int row_results(const std::string& op) {
  if (op == "row_statistics") return 4;
  return op.ends_with("entropy") || op.ends_with("logsumexp") ? 1 : 0;
}

/// A call of one kernel of both libraries.
template <class Element>
struct Problem {
  using Bits = typename Format<Element>::Bits;

  Problem(Rows kind, std::int64_t rows, std::int64_t n, bool strided)
      : logits(Format<Element>::type, {rows, n},
               strided ? std::vector<std::int64_t>{2 * n + 3, 2} : std::vector<std::int64_t>{}, strided ? 5 : 0),
        gradient(Format<Element>::type, {rows, n},
                 strided ? std::vector<std::int64_t>{n + 1, 1} : std::vector<std::int64_t>{}, strided ? 3 : 0),
        mask(kernel_tests::mask_type, {rows, n},
             strided ? std::vector<std::int64_t>{n, 1} : std::vector<std::int64_t>{}) {
    std::mt19937 random(static_cast<unsigned>(n) + 100 * static_cast<unsigned>(kind));
    for (std::int64_t row = 0; row < rows; ++row) {
      for (std::int64_t i = 0; i < n; ++i) {
        const double x = logit(kind, i, n, random);
        logits.at(row, i) = rounded_to<Element>(x);
        mask.at(row, i) = random() % 3 != 0;
        // Signs and sizes that differ, so that what is left of a compensated sum shows the order of its additions.
        const double slope = logit(Rows::sharp, i, n, random) * (random() % 5 == 0 ? 100 : 1);
        gradient.at(row, i) = rounded_to<Element>(kind == Rows::hidden && x == -INFINITY ? std::nan("") : slope);
      }
    }
  }

  /// All results of the op, one output after the other, each with the room between its elements.
  std::vector<Bits> results(const std::string& prefix, const std::string& op, bool masked, double theta,
                            int wanted = 4) {
    std::deque<Tensor<Bits>> outputs;
    for (int i = 0; i < std::clamp(row_results(op), 1, wanted); ++i) {
      row_results(op) == 0 ? outputs.emplace_back(Format<Element>::type, logits.shape)
                           : outputs.emplace_back(Format<Element>::type, std::vector<std::int64_t>{logits.shape[0]});
    }
    std::vector<const DLTensor*> inputs = {&logits.view};
    if (op == "adaptive_softmax_backward") inputs.push_back(&gradient.view);
    if (masked) inputs.push_back(&mask.view);
    std::vector<DLTensor*> views;
    for (Tensor<Bits>& output : outputs) views.push_back(&output.view);
    const softcheck_kernel kernel =
        kernel_tests::load_kernel("softcheck_" + prefix + "_kernels", "softcheck_" + prefix + "_" + op);
    if (!kernel_tests::takes_call(kernel, inputs, views, 1, false, theta))
      ADD_FAILURE() << prefix << ' ' << op << " is missing or refused a call";
    std::vector<Bits> all;
    for (const Tensor<Bits>& output : outputs) all.insert(all.end(), output.elements.begin(), output.elements.end());
    std::ranges::replace_if(all, is_nan, rounded_to<Element>(std::nan("")));  // its sign depends on the compiler
    return all;
  }

  static bool is_nan(Bits bits) {
    if constexpr (std::is_floating_point_v<Bits>) {
      return std::isnan(bits);
    } else {
      return (bits & 0x7fff) > rounded_to<Element>(INFINITY);
    }
  }

  Tensor<Bits> logits, gradient;
  Tensor<std::uint8_t> mask;
};

template <class Element>
class StrictRows : public testing::Test {
 protected:
  static void expect_same(Rows kind, std::int64_t rows, std::int64_t n, bool strided, bool masked, double theta) {
    Problem<Element> problem(kind, rows, n, strided);
    for (const std::string op : {"softmax", "entropy", "log_softmax", "logsumexp", "varentropy", "row_statistics",
                                 "adaptive_softmax", "adaptive_softmax_backward"}) {
      const double temperature = op.find("adaptive") != std::string::npos ? 1 : theta;
      EXPECT_TRUE(kernel_tests::same_bits(problem.results("emulated", op, masked, temperature),
                                          problem.results("strict", op, masked, temperature)))
          << op << ", rows of kind " << static_cast<int>(kind) << ", " << n << " columns, masked " << masked
          << ", theta " << temperature;
    }
  }
};
TYPED_TEST_SUITE(StrictRows, StrictElements);

TYPED_TEST(StrictRows, HaveTheBitsOfTheEmulatedOnesAtEveryWidth) {
  for (const std::int64_t n : {0, 1, 2, 3, 4, 5, 31, 127, 128, 129, 511, 512, 513, 1000, 2049, 4097}) {
    for (const Rows kind : all_rows) this->expect_same(kind, 1, n, false, false, 1);
  }
}

TYPED_TEST(StrictRows, HaveTheBitsOfTheEmulatedOnesInEveryCall) {
  for (const std::int64_t n : {1, 6, 130, 700, 4100}) {
    for (const double theta : {0.7, 1.0, 3.0, 1e-6}) {
      for (const bool strided : {false, true}) {
        for (const bool masked : {false, true}) this->expect_same(Rows::sharp, 3, n, strided, masked, theta);
      }
    }
  }
}

TYPED_TEST(StrictRows, HaveTheBitsOfTheEmulatedOnesOnLongRows) {
  for (const Rows kind : {Rows::flat, Rows::rising, Rows::hidden}) this->expect_same(kind, 1, 70000, false, true, 1.3);
}

TYPED_TEST(StrictRows, StatisticsAreTheSameHoweverManyAreAskedFor) {
  for (const Rows kind : {Rows::sharp, Rows::rising, Rows::all_hidden, Rows::with_nan}) {
    Problem<TypeParam> problem(kind, 2, 1000, false);
    const auto all = problem.results("strict", "row_statistics", false, 1);
    for (const int wanted : {1, 2, 3}) {
      auto fewer = problem.results("strict", "row_statistics", false, 1, wanted);
      EXPECT_TRUE(kernel_tests::same_bits(problem.results("emulated", "row_statistics", false, 1, wanted), fewer));
      EXPECT_TRUE(
          kernel_tests::same_bits({all.begin(), all.begin() + static_cast<std::ptrdiff_t>(fewer.size())}, fewer))
          << wanted << ", rows of kind " << static_cast<int>(kind);
    }
  }
}

// Gradients of sizes far apart, each there with both signs among equal weights: of their sum is left what its roundings
// are, which depend on the order, and those whose own gradient is 0 show it.
TYPED_TEST(StrictRows, GradientsAddInTheOrderOfTheEmulatedOnes) {
  const int most = std::is_same_v<TypeParam, Half> ? 15 : 60, least = std::is_same_v<TypeParam, Half> ? -20 : -60;
  for (const std::int64_t n : {300, 1000, 4097}) {
    std::mt19937 random(static_cast<unsigned>(n));
    std::vector<double> gradients(static_cast<std::size_t>(n));
    for (std::size_t i = 0; i + 1 < gradients.size() / 2; i += 2) {
      const int exponent = std::uniform_int_distribution<int>(least, most)(random);
      gradients[i] = std::ldexp(std::uniform_real_distribution<double>(0.5, 1)(random), exponent);
      gradients[i + 1] = -gradients[i];
    }
    std::shuffle(gradients.begin(), gradients.end(), random);
    Problem<TypeParam> problem(Rows::equal, 1, n, false);
    for (std::size_t i = 0; i < gradients.size(); ++i) {
      problem.gradient.at(0, static_cast<std::int64_t>(i)) = rounded_to<TypeParam>(gradients[i]);
    }
    for (const bool masked : {false, true}) {
      EXPECT_TRUE(kernel_tests::same_bits(problem.results("emulated", "adaptive_softmax_backward", masked, 1),
                                          problem.results("strict", "adaptive_softmax_backward", masked, 1)))
          << n << " columns, masked " << masked;
    }
  }
}

// What the comparison must not forgive: a kernel that adds in another order, and one that rounds a product before its
// addition, each once.

template <int rounded_product>
double exponential_with(double z) {
  using C = kernels::arithmetic::ExpConstants<double>;
  if (!(z > C::lowest)) return 0;
  const double rounded = fused(z, C::log2_e, C::rounder);
  const double k = rounded - C::rounder;
  const double r = fused(-k, C::ln2_low, fused(-k, C::ln2_high, z));
  const double q = exponential_tail<double>(r);
  const double tail = rounded_product != 0 ? (r * r) * q + r : fused(r * r, q, r);
  return (1 + tail) * std::bit_cast<double>(std::bit_cast<std::uint64_t>(rounded) << C::significand_bits);
}

Logits<emulator::Block, double> logits_of(const Problem<double>& problem) {
  Logits<emulator::Block, double> logits;
  logits.rows = 1;
  logits.columns = static_cast<std::int64_t>(problem.logits.elements.size());
  logits.values = {std::span<const double>(problem.logits.elements), logits.columns, 1};
  return logits;
}

/// m, S - 1, T and U by a block of so many threads.
std::vector<double> statistics_by_a_block_of(int threads, const Problem<double>& problem) {
  std::vector<double> results(4);
  StatisticsArguments<emulator::Block, double, double> arguments;
  arguments.logits = logits_of(problem);
  for (std::size_t i = 0; i < 4; ++i) arguments.results[i] = {std::span(results).subspan(i, 1), 1, 1};
  emulator::launch({1, threads, merging_bytes<RowStatistics<double>>(threads)},
                   [&](emulator::Block& block) { RowStatisticsKernel::run(block, arguments); });
  return results;
}

template <int rounded_product>
std::vector<double> softmax_by_a_block_of(int threads, Problem<double>& problem) {
  const auto n = static_cast<std::int64_t>(problem.logits.elements.size());
  std::vector<double> out(problem.logits.elements.size());
  RowArguments<emulator::Block, double> arguments;
  arguments.logits = logits_of(problem);
  arguments.results = {std::span<double>(out), n, 1};
  const auto body = [&](emulator::Block& block) {
    const auto partials = block.shared<RowStatistics<double>>(block.size() / warp_size);
    const LogitsRow<emulator::Block, double> row(arguments.logits, 0);
    const RowStatistics<double> all = row_statistics<Moments::weights>(block, row, partials, 1.0);
    const double factor = 1 / (1 + all.weights.total());
    each_group_of_columns(block, n, [&](std::int64_t begin) {
      for (std::int64_t i = begin; i < std::min<std::int64_t>(begin + items_at_once, n); ++i) {
        const double weight = exponential_with<rounded_product>(row.visible(i) - all.maximum);
        arguments.store(0, i, weight * factor * kernels::arithmetic::ExpConstants<double>::unscale);
      }
    });
  };
  emulator::launch({1, threads, merging_bytes<RowStatistics<double>>(threads)}, body);
  return out;
}

TEST(StrictRowsPlanted, OtherRoundingsHaveOtherBits) {
  // Sums are compensated, rescalings too: another tree shows in T and U, where a merge rescales, and not in every row.
  int other_tree = 0;
  for (const Rows kind : {Rows::flat, Rows::sharp, Rows::rising, Rows::hidden}) {
    for (const std::int64_t n : {600, 1000, 2000, 3000}) {
      Problem<double> problem(kind, 1, n, false);
      const std::vector<double> strict = problem.results("strict", "softmax", false, 1);
      EXPECT_TRUE(kernel_tests::same_bits(softmax_by_a_block_of<0>(row_threads, problem), strict));
      EXPECT_FALSE(kernel_tests::same_bits(softmax_by_a_block_of<1>(row_threads, problem), strict)) << "an fma in two";
      const std::vector<double> statistics = problem.results("strict", "row_statistics", false, 1);
      EXPECT_TRUE(kernel_tests::same_bits(statistics_by_a_block_of(row_threads, problem), statistics));
      if (!kernel_tests::same_bits(statistics_by_a_block_of(2 * row_threads, problem), statistics)) ++other_tree;
    }
  }
  EXPECT_GT(other_tree, 0);
}

// The conversions of the strict kernels, on vectors, against those of one number after the other: all numbers of the
// 16-bit formats, and all that lie in the middle between two of them.

/// One column for each number: attention to one key gives its value, to two keys that are alike the middle of theirs.
template <class Element>
std::vector<std::uint16_t> attended(const std::vector<std::uint16_t>& first, const std::vector<std::uint16_t>& second) {
  const auto columns = static_cast<std::int64_t>(first.size());
  const std::int64_t keys = second.empty() ? 1 : 2;
  constexpr DLDataType type = Format<Element>::type;
  Tensor<std::uint16_t> q(type, {1, 1, 1, 1}), k(type, {1, 1, keys, 1}), v(type, {1, 1, keys, columns}),
      out(type, {1, 1, 1, columns});
  std::copy(first.begin(), first.end(), v.elements.begin());
  std::copy(second.begin(), second.end(), v.elements.begin() + columns);
  const softcheck_kernel kernel = kernel_tests::load_kernel("softcheck_strict_kernels", "softcheck_strict_attention");
  if (!kernel_tests::takes_call(kernel, {&q.view, &k.view, &v.view}, {&out.view}))
    ADD_FAILURE() << "no kernel, or it refused the call";
  return out.elements;
}

template <class Element>
class StrictFormats : public testing::Test {};
using NarrowElements = testing::Types<Half, BFloat>;
TYPED_TEST_SUITE(StrictFormats, NarrowElements);

TYPED_TEST(StrictFormats, RoundAsOneNumberAfterTheOther) {
  std::vector<std::uint16_t> numbers, next;
  for (std::uint32_t bits = 0; bits + 1 < 0x10000u; ++bits) {
    const auto one = static_cast<std::uint16_t>(bits), other = static_cast<std::uint16_t>(bits + 1);
    // A sum keeps what it rounds away: of what is infinite, and of a sum that is, that is NaN.
    if (!std::isfinite(kernels::widened(TypeParam{one}) + kernels::widened(TypeParam{other}))) continue;
    numbers.push_back(one);
    next.push_back(other);
  }
  ASSERT_GT(numbers.size(), 63000u);
  const std::vector<std::uint16_t> same = attended<TypeParam>(numbers, {}), middle = attended<TypeParam>(numbers, next);
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    const float x = kernels::widened(TypeParam{numbers[i]}), y = kernels::widened(TypeParam{next[i]});
    // 0 is no sum's -0.
    if (x != 0) {
      ASSERT_EQ(same[i], numbers[i]);
    }
    ASSERT_EQ(middle[i], kernels::narrowed<TypeParam>((x + y) * 0.5F).bits) << x << ' ' << y;
  }
}

}  // namespace
}  // namespace softcheck::emulator_tests
