// mma.sync m16n8k16 on the emulator: fragments laid out as the PTX ISA says, against a plain product.
#include <gtest/gtest.h>

#include <array>
#include <bit>
#include <cmath>
#include <numeric>
#include <random>

#include "kernels/block/mma_statistics.hpp"
#include "kernels/emulator/block.hpp"
#include "proptests/tests/emulator/strict_formats.hpp"
#include "proptests/tests/kernels/attention_expected.hpp"

namespace softcheck::emulator_tests {
namespace {

using namespace kernels;
using emulator::Block;

// The tables of the PTX ISA, "Matrix Fragments for mma.m16n8k16 with floating point type", in its own words.
int row_of_a(int lane, int i) { return (i >= 0 && i < 2) || (i >= 4 && i < 6) ? lane >> 2 : (lane >> 2) + 8; }
int column_of_a(int lane, int i) { return i < 4 ? (lane % 4) * 2 + (i & 1) : (lane % 4) * 2 + (i & 1) + 8; }
int row_of_b(int lane, int i) { return i < 2 ? (lane % 4) * 2 + (i & 1) : (lane % 4) * 2 + (i & 1) + 8; }
int column_of_b(int lane, int) { return lane >> 2; }
int row_of_c(int lane, int i) { return i < 2 ? lane >> 2 : (lane >> 2) + 8; }
int column_of_c(int lane, int i) { return (lane % 4) * 2 + (i & 1); }

struct Problem {
  std::array<std::array<float, 16>, 16> a;
  std::array<std::array<float, 8>, 16> b;
  std::array<std::array<float, 8>, 16> c;
};

// Small integers: every product and every sum is exact, in any order.
Problem random_problem(unsigned seed) {
  std::mt19937 random(seed);
  std::uniform_int_distribution<int> integer(-9, 9);
  Problem problem;
  for (auto& row : problem.a) {
    for (float& x : row) x = static_cast<float>(integer(random));
  }
  for (auto* matrix : {&problem.b, &problem.c}) {
    for (auto& row : *matrix) {
      for (float& x : row) x = static_cast<float>(integer(random));
    }
  }
  return problem;
}

template <class Element>
class Mma : public testing::Test {};
using Elements = testing::Types<Half, BFloat>;
TYPED_TEST_SUITE(Mma, Elements);

TYPED_TEST(Mma, IsThePlainProductUnderEverySchedule) {
  for (unsigned seed = 1; seed <= 10; ++seed) {
    const Problem problem = random_problem(seed);
    std::array<std::array<float, 8>, 16> d{};
    const auto kernel = [&](Block& block) {
      FragmentA<TypeParam> a;
      FragmentB<TypeParam> b;
      FragmentC c;
      const int lane = block.lane();
      for (int i = 0; i < 8; ++i) a.set(i, narrowed<TypeParam>(problem.a[row_of_a(lane, i)][column_of_a(lane, i)]));
      for (int i = 0; i < 4; ++i) b.set(i, narrowed<TypeParam>(problem.b[row_of_b(lane, i)][column_of_b(lane, i)]));
      for (int i = 0; i < 4; ++i) c.entry[i] = problem.c[row_of_c(lane, i)][column_of_c(lane, i)];
      const FragmentC product = block.mma(a, b, c);
      for (int i = 0; i < 4; ++i) d[row_of_c(lane, i)][column_of_c(lane, i)] = product.entry[i];
    };
    const std::span<std::byte> written = std::as_writable_bytes(std::span(d));
    const emulator::LaunchReport report = emulator::launch_under_all_schedules({1, 32, 0}, {&written, 1}, kernel);
    ASSERT_TRUE(report.clean()) << report.text();
    for (int row = 0; row < 16; ++row) {
      for (int column = 0; column < 8; ++column) {
        float expected = problem.c[row][column];
        for (int k = 0; k < 16; ++k) expected += problem.a[row][k] * problem.b[k][column];
        EXPECT_EQ(d[row][column], expected) << row << ", " << column;
      }
    }
  }
}

TEST(MmaPlaces, AreThoseOfThePtxIsa) {
  for (int lane = 0; lane < 32; ++lane) {
    for (int i = 0; i < 8; ++i) {
      EXPECT_EQ(place_in_a(lane, i).row, row_of_a(lane, i));
      EXPECT_EQ(place_in_a(lane, i).column, column_of_a(lane, i));
    }
    for (int i = 0; i < 4; ++i) {
      EXPECT_EQ(place_in_b(lane, i).row, row_of_b(lane, i));
      EXPECT_EQ(place_in_b(lane, i).column, column_of_b(lane, i));
      EXPECT_EQ(place_in_c(lane, i).row, row_of_c(lane, i));
      EXPECT_EQ(place_in_c(lane, i).column, column_of_c(lane, i));
    }
  }
}

// The PTX ISA on ldmatrix: thread t holds of each matrix row t / 4, elements 2 (t % 4) and 2 (t % 4) + 1; of .trans, of
// column t / 4.
template <bool transposed>
void expect_parts_of_matrices() {
  // Element (r, c) of matrix m is 64 m + 8 r + c; rows stand 24 elements apart, in no order.
  const auto place = [](int matrix, int row) { return (matrix * 8 + row) * 5 % 32 * 24; };
  std::array<std::array<int, 8>, 32> found{};
  const std::span<std::byte> written = std::as_writable_bytes(std::span(found));
  const auto report = emulator::launch_under_all_schedules({1, 32, 32 * 24 * 2}, {&written, 1}, [&](Block& block) {
    const auto tile = block.shared<Half>(32 * 24);
    const int matrix = block.lane() / 8, row = block.lane() % 8;
    for (int c = 0; c < 8; ++c) {
      tile.store(place(matrix, row) + c, Half{static_cast<std::uint16_t>(64 * matrix + 8 * row + c)});
    }
    block.sync();
    const MatrixParts<Half> parts = block.load_matrices<transposed>(tile, place(matrix, row));
    for (int i = 0; i < 8; ++i) found[block.lane()][i] = parts.get(i).bits;
  });
  EXPECT_TRUE(report.clean()) << report.text();
  for (int t = 0; t < 32; ++t) {
    for (int i = 0; i < 8; ++i) {
      const int along = 2 * (t % 4) + i % 2, across = t / 4;
      EXPECT_EQ(found[t][i], 64 * (i / 2) + (transposed ? 8 * along + across : 8 * across + along));
    }
  }
}

TEST(LoadMatrices, GivesEachLaneItsElements) {
  expect_parts_of_matrices<false>();
  expect_parts_of_matrices<true>();
}

// A tensor core wants the whole warp.
TEST(Mma, ALaneThatStaysAwayIsFound) {
  const auto report = emulator::launch({1, 32, 0}, [](Block& block) {
    if (block.lane() != 7) block.mma(FragmentA<Half>{}, FragmentB<Half>{}, FragmentC{});
  });
  ASSERT_EQ(report.findings.size(), 1U);
  EXPECT_EQ(report.findings[0].kind, emulator::FindingKind::divergent_warp);
  EXPECT_NE(report.findings[0].message.find("lane 7: left the kernel"), std::string::npos) << report.text();
}

using kernel_tests::Moments;
using kernel_tests::Tensor;
using Bits = std::uint16_t;

// Statistics of scores by tensor cores on the emulator, of more queries and keys than a tile has and wherever they
// stand in memory: m bit for bit, the sums within what the contract's tree rounds. Queries and keys are small integers,
// so that no score is rounded.

constexpr std::int64_t queries = 70, keys = 75;
constexpr double scale = 0x1p-4;

/// Where a tensor's rows stand: elements before the first one, odd ones where 16 bytes cannot be moved at once, and
/// from row to row.
struct Rows {
  std::size_t offset;
  std::int64_t step;
};

/// dim numbers a row, -2 to 2, the same wherever they stand; NaN beside the rows.
template <class Element>
struct Integers {
  Integers(std::int64_t rows, std::int64_t dim, const Rows& of, unsigned seed)
      : tensor(Format<Element>::type, {1, 1, rows, dim}, {1, 1, of.step, 1}, of.offset, Bits{0x7fff}) {
    std::mt19937 random(seed);
    for (std::int64_t i = 0; i < rows; ++i) {
      for (std::int64_t c = 0; c < dim; ++c) {
        values.push_back(static_cast<int>(random() % 5) - 2);
        tensor.elements[of.offset + static_cast<std::size_t>(i * of.step + c)] = rounded_to<Element>(values.back());
      }
    }
  }

  std::vector<int> values;
  Tensor<Bits> tensor;
};

struct Hidden {
  bool masked, causal;
  bool operator()(std::int64_t query, std::int64_t key) const {
    return (causal && key > query + keys - queries) || (masked && shown_by_mask(query, key) == 0);
  }
  /// Nothing is shown to the first query.
  static std::uint8_t shown_by_mask(std::int64_t query, std::int64_t key) {
    return query > 0 && (query * 7 + key * 3) % 5 != 2 ? 1 : 0;
  }
};

template <class Element>
struct StatisticsProblem {
  StatisticsProblem(std::int64_t head_size, const Rows& of_q, const Rows& of_k)
      : dim(head_size), q(queries, dim, of_q, 1), k(keys, dim, of_k, 2) {
    for (std::int64_t i = 0; i < queries; ++i) {
      for (std::int64_t j = 0; j < keys; ++j) {
        mask.elements[static_cast<std::size_t>(i * keys + j)] = Hidden::shown_by_mask(i, j);
      }
    }
  }

  double score(std::int64_t query, std::int64_t key) const {
    const auto at = [&](const Integers<Element>& of, std::int64_t row) { return of.values.begin() + row * dim; };
    return scale * std::inner_product(at(q, query), at(q, query) + dim, at(k, key), 0);
  }

  bool run(const Hidden& hidden) {
    std::vector<const DLTensor*> inputs = {&q.tensor.view, &k.tensor.view};
    if (hidden.masked) inputs.push_back(&mask.view);
    for (Tensor<float>& result : results) std::ranges::fill(result.elements, -7.0F);
    return kernel_tests::takes_call(
        kernel_tests::load_kernel("softcheck_emulated_kernels", "softcheck_emulated_mma_attention_statistics"), inputs,
        {&results[0].view, &results[1].view, &results[2].view, &results[3].view}, scale, hidden.causal);
  }

  void expect_statistics(std::int64_t query, const Hidden& hidden) const {
    double largest = -INFINITY;
    for (std::int64_t j = 0; j < keys; ++j) {
      if (!hidden(query, j)) largest = std::max(largest, score(query, j));
    }
    const auto found = [&](std::size_t i) { return results[i].elements[static_cast<std::size_t>(query)]; };
    EXPECT_EQ(std::bit_cast<std::uint32_t>(found(0)), std::bit_cast<std::uint32_t>(static_cast<float>(largest)))
        << "m: " << found(0) << ", not " << largest;
    Moments exact;
    for (std::int64_t j = 0; j < keys; ++j) {
      if (!hidden(query, j)) exact.add(largest - score(query, j));
    }
    static const numerics::Contract contract = numerics::parse_contract(
        "acc=f32 sum=lanes:16 exp=1ulp masked=zero subnormal=kept", numerics::Format::f32, numerics::Format::f32);
    for (int i = 0; i < 3; ++i) {
      const double moment = exact.of[i] - (i == 0 ? 1 : 0);
      // The sums in double round as often as there are keys, an exponential and powers.
      const double own = static_cast<double>(keys + 2 + i) * 0x1p-53 * exact.of[i];
      EXPECT_NEAR(found(static_cast<std::size_t>(i) + 1), moment,
                  exact.items == 0 ? 0 : moment_error(contract, exact, i, moment) + own)
          << (i == 0   ? "S - 1"
              : i == 1 ? "T"
                       : "U");
    }
  }

  std::int64_t dim;
  Integers<Element> q, k;
  Tensor<std::uint8_t> mask{kernel_tests::mask_type, {1, 1, queries, keys}};
  Tensor<float> results[4] = {of_queries(), of_queries(), of_queries(), of_queries()};

 private:
  static Tensor<float> of_queries() { return {Format<float>::type, {1, 1, queries}}; }
};

template <class Element>
class MmaStatistics : public testing::Test {};
using Halves = testing::Types<Half, BFloat>;
TYPED_TEST_SUITE(MmaStatistics, Halves);

// Tiles of both widths; queries and keys each moved 16 bytes at a time or element by element.
// Labelled full: MmaStatistics*.OfQueriesAndKeysAnywhereAreWithinTheirErrors
TYPED_TEST(MmaStatistics, OfQueriesAndKeysAnywhereAreWithinTheirErrors) {
  for (const std::int64_t dim : {64, 59, 120}) {
    const std::int64_t whole = (dim + 7) / 8 * 8;
    const Rows places[] = {{8, whole + 8}, {3, whole}, {0, whole + 3}};
    for (const Rows& of_q : places) {
      for (const Rows& of_k : places) {
        StatisticsProblem<TypeParam> problem(dim, of_q, of_k);
        for (const Hidden hidden : {Hidden{false, false}, {true, false}, {false, true}, {true, true}}) {
          ASSERT_TRUE(problem.run(hidden));
          for (std::int64_t i = 0; i < queries && !this->HasFailure(); ++i) {
            SCOPED_TRACE(testing::Message()
                         << "dim " << dim << ", q " << of_q.offset << " + " << of_q.step << " i, k " << of_k.offset
                         << " + " << of_k.step << " j" << (hidden.masked ? ", masked" : "")
                         << (hidden.causal ? ", causal" : "") << ", query " << i);
            problem.expect_statistics(i, hidden);
          }
        }
      }
    }
  }
}

template <class Element>
std::vector<Element> elements_of(const Integers<Element>& of) {
  std::vector<Element> all;
  for (const Bits bits : of.tensor.elements) all.push_back(Element{bits});
  return all;
}

// One block of two tiles of queries, which share the memory; queries by chunks, keys by elements.
TYPED_TEST(MmaStatistics, AreCleanUnderEverySchedule) {
  using Block = kernels::emulator::Block;
  const StatisticsProblem<TypeParam> problem(24, {0, 24}, {0, 27});
  const std::vector<TypeParam> q = elements_of(problem.q), k = elements_of(problem.k);
  kernels::AttentionStatisticsArguments<Block, TypeParam, float> arguments;
  arguments.forward.q = {std::span<const TypeParam>(q), {0, 0, 24, 1}};
  arguments.forward.k = {std::span<const TypeParam>(k), {0, 0, 27, 1}};
  arguments.forward.batch = arguments.forward.heads = arguments.forward.key_heads = 1;
  arguments.forward.queries = queries;
  arguments.forward.keys = keys;
  arguments.forward.dim = problem.dim;
  arguments.forward.scale = static_cast<float>(scale);
  arguments.forward.causal = true;
  std::vector<std::vector<float>> results(4, std::vector<float>(queries));
  std::vector<std::span<std::byte>> written;
  for (std::size_t i = 0; i < 4; ++i) {
    arguments.results[i] = {std::span<float>(results[i]), {0, 0, 1, 1}};
    written.push_back(std::as_writable_bytes(std::span<float>(results[i])));
  }
  const auto report = kernels::emulator::launch_under_all_schedules(
      {1, kernels::mma_threads, kernels::mma_statistics_bytes<64, TypeParam>}, written,
      [&](Block& block) { kernels::mma_statistics_body<64>(block, arguments); });
  EXPECT_TRUE(report.clean()) << report.text();
}

}  // namespace
}  // namespace softcheck::emulator_tests
