// Statistics of scores by tensor cores on the emulator, of more queries and keys than a tile has and wherever they
// stand in memory: m bit for bit, the sums within what the contract's tree rounds. Queries and keys are small integers,
// so that no score is rounded.
#include "kernels/block/mma_statistics.hpp"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <numeric>
#include <random>

#include "kernels/emulator/block.hpp"
#include "proptests/tests/emulator/strict_formats.hpp"
#include "proptests/tests/kernels/moment_bounds.hpp"

namespace softcheck::emulator_tests {
namespace {

using kernel_tests::Moments;
using kernel_tests::Tensor;
using Bits = std::uint16_t;

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
struct Problem {
  Problem(std::int64_t head_size, const Rows& of_q, const Rows& of_k)
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
        Problem<TypeParam> problem(dim, of_q, of_k);
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
  const Problem<TypeParam> problem(24, {0, 24}, {0, 27});
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
