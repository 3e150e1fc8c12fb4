// The attention kernels on the emulator: clean and with the same bits under every schedule; the statistics of scores,
// and the rows that see no key. How well they keep their contracts is judged beside these tests.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <deque>
#include <random>
#include <string>
#include <vector>

#include "kernels/block/attention_backward.hpp"
#include "kernels/block/attention_statistics.hpp"
#include "kernels/block/mma_attention.hpp"
#include "kernels/block/split_attention.hpp"
#include "kernels/emulator/block.hpp"
#include "proptests/tests/kernels/loaded_kernel.hpp"

namespace softcheck::emulator_tests {
namespace {

using namespace kernels;
using emulator::Block;
using Arguments = AttentionArguments<Block, float, float>;

constexpr std::int64_t heads = 4, key_heads = 2, queries = 3, keys = 150, dim = 5, value_dim = 7;

template <class View, class T>
Tensor4<View> compact(std::vector<T>& elements, std::int64_t h, std::int64_t rows, std::int64_t columns) {
  return {View(std::span(elements)), {h * rows * columns, rows * columns, columns, 1}};
}

struct Problem {
  std::vector<float> q, k, v, out, lse, entropy, maximum;
  std::vector<std::uint8_t> mask;

  Problem() {
    std::mt19937 random(3);
    std::normal_distribution<float> normal(0, 2);
    const auto fill = [&](std::vector<float>& tensor, std::int64_t count) {
      tensor.resize(static_cast<std::size_t>(count));
      for (float& x : tensor) x = normal(random);
    };
    fill(q, heads * queries * dim);
    fill(k, key_heads * keys * dim);
    fill(v, key_heads * keys * value_dim);
    out.resize(static_cast<std::size_t>(heads * queries * value_dim));
    for (auto* rows : {&lse, &entropy, &maximum}) rows->resize(static_cast<std::size_t>(heads * queries));
    mask.assign(static_cast<std::size_t>(heads * queries * keys), 1);
  }

  Arguments arguments() {
    Arguments all;
    all.q = compact<Arguments::Global<const float>>(q, heads, queries, dim);
    all.k = compact<Arguments::Global<const float>>(k, key_heads, keys, dim);
    all.v = compact<Arguments::Global<const float>>(v, key_heads, keys, value_dim);
    all.mask = compact<Arguments::Global<const std::uint8_t>>(mask, heads, queries, keys);
    all.out = compact<Arguments::Global<float>>(out, heads, queries, value_dim);
    all.lse = compact<Arguments::Global<float>>(lse, heads, queries, 1);
    all.entropy = compact<Arguments::Global<float>>(entropy, heads, queries, 1);
    all.maximum = compact<Arguments::Global<float>>(maximum, heads, queries, 1);
    all.masked = true;
    all.batch = 1;
    all.heads = heads;
    all.key_heads = key_heads;
    all.queries = queries;
    all.keys = keys;
    all.dim = dim;
    all.value_dim = value_dim;
    all.scale = 0.5F;
    return all;
  }

  template <bool adaptive>
  emulator::LaunchReport run(bool causal) {
    Arguments all = arguments();
    all.causal = causal;
    std::vector<std::span<std::byte>> written;
    for (auto* tensor : {&out, &lse, &entropy, &maximum}) {
      written.push_back(std::as_writable_bytes(std::span<float>(*tensor)));
    }
    return emulator::launch_under_all_schedules({2, attention_threads, attention_bytes<float>(dim)}, written,
                                                [&](Block& block) { attention_body<adaptive>(block, all); });
  }

  // The same operations in the same order as the kernel's, so the same bits.
  float score(std::int64_t head, std::int64_t query, std::int64_t key) const {
    float dot = 0;
    for (std::int64_t i = 0; i < dim; ++i) {
      dot = std::fma(q[static_cast<std::size_t>((head * queries + query) * dim + i)],
                     k[static_cast<std::size_t>((head / 2 * keys + key) * dim + i)], dot);
    }
    return dot * 0.5F;
  }

  // m, S - 1, T and U of all scores, row by row, by the kernel of rows.
  std::vector<std::vector<float>> statistics_of_rows(bool causal) const {
    using kernel_tests::dtype_of;
    using kernel_tests::Tensor;
    Tensor<float> scores(dtype_of<float>(), {heads * queries, keys});
    for (std::int64_t row = 0; row < heads * queries; ++row) {
      for (std::int64_t key = 0; key < keys; ++key) {
        const bool seen = mask[static_cast<std::size_t>(row * keys + key)] != 0 &&
                          (!causal || key < row % queries + keys - queries + 1);
        scores.at(row, key) = seen ? score(row / queries, row % queries, key) : -INFINITY;
      }
    }
    std::deque<Tensor<float>> results;
    std::vector<DLTensor*> outputs;
    while (results.size() < 4) {
      results.emplace_back(dtype_of<float>(), std::vector{heads * queries});
      outputs.push_back(&results.back().view);
    }
    const softcheck_kernel kernel =
        kernel_tests::load_kernel("softcheck_emulated_kernels", "softcheck_emulated_row_statistics");
    EXPECT_TRUE(kernel_tests::takes_call(kernel, {&scores.view}, outputs, 1, false));
    std::vector<std::vector<float>> numbers;
    for (Tensor<float>& result : results) {
      result.elements.resize(static_cast<std::size_t>(heads * queries));
      numbers.push_back(result.elements);
    }
    return numbers;
  }
};

TEST(EmulatedAttention, IsCleanAndTheSameUnderEverySchedule) {
  for (const bool causal : {false, true}) {
    Problem plain, adaptive;
    const emulator::LaunchReport of_plain = plain.run<false>(causal), of_adaptive = adaptive.run<true>(causal);
    EXPECT_TRUE(of_plain.clean()) << of_plain.text();
    EXPECT_TRUE(of_adaptive.clean()) << of_adaptive.text();
  }
}

// Clean under every schedule; a query's statistics are those of its row of scores, bit for bit.
TEST(EmulatedAttentionStatistics, AreThoseOfTheRowsOfScores) {
  for (const bool causal : {false, true}) {
    Problem problem;
    for (std::size_t i = 0; i < problem.mask.size(); ++i) problem.mask[i] = i % 5 != 0;
    AttentionStatisticsArguments<Block, float, float> all;
    all.forward = problem.arguments();
    all.forward.causal = causal;
    all.forward.v = {};
    all.forward.out = {};
    all.forward.value_dim = 0;
    std::vector<std::vector<float>> statistics(4, std::vector<float>(problem.lse.size()));
    std::vector<std::span<std::byte>> written;
    for (std::size_t i = 0; i < 4; ++i) {
      all.results[i] = compact<Arguments::Global<float>>(statistics[i], heads, queries, 1);
      written.push_back(std::as_writable_bytes(std::span<float>(statistics[i])));
    }
    const emulator::LaunchReport report =
        emulator::launch_under_all_schedules({2, attention_threads, attention_statistics_bytes<float>(dim)}, written,
                                             [&](Block& block) { attention_statistics_body(block, all); });
    EXPECT_TRUE(report.clean()) << report.text();
    EXPECT_EQ(statistics, problem.statistics_of_rows(causal));
  }
}

// How near its gradients come to exact ones: AttentionGradient of proptests/tests/kernels/.
template <bool adaptive>
void expect_clean_gradients(bool causal) {
  Problem problem;
  for (std::size_t i = 0; i < problem.mask.size(); ++i) problem.mask[i] = i >= keys && i % 5 != 0;
  std::vector<float> d_out(problem.out.size(), 0.75F), dq(problem.q.size()), dk(problem.k.size()), dv(problem.v.size());
  std::vector<QueryGradient<float>> kept(static_cast<std::size_t>(heads * queries));
  GradientArguments<Block, float> all;
  all.forward = problem.arguments();
  all.forward.causal = causal;
  all.d_out = compact<Arguments::Global<const float>>(d_out, heads, queries, value_dim);
  all.dq = compact<Arguments::Global<float>>(dq, heads, queries, dim);
  all.dk = compact<Arguments::Global<float>>(dk, key_heads, keys, dim);
  all.dv = compact<Arguments::Global<float>>(dv, key_heads, keys, value_dim);
  all.queries = std::span(kept);
  const auto expect_clean = [&](auto& one, auto& other, const emulator::Kernel& kernel) {
    const std::span<std::byte> written[] = {std::as_writable_bytes(std::span(one)),
                                            std::as_writable_bytes(std::span(other))};
    const emulator::LaunchReport report = emulator::launch_under_all_schedules(
        {3, attention_threads, gradient_bytes<float>(dim, value_dim)}, written, kernel, 1);
    EXPECT_TRUE(report.clean()) << report.text();
  };
  expect_clean(dq, kept, [&](Block& block) { query_backward_body<adaptive>(block, all); });
  expect_clean(dk, dv, [&](Block& block) { key_backward_body<adaptive>(block, all); });
}

// Labelled full: EmulatedAttention.GradientsAreCleanAndTheSameUnderEverySchedule
TEST(EmulatedAttention, GradientsAreCleanAndTheSameUnderEverySchedule) {
  for (const bool causal : {false, true}) {
    expect_clean_gradients<false>(causal);
    expect_clean_gradients<true>(causal);
  }
}

TEST(EmulatedAttention, AQueryThatSeesNoKeyIsZero) {
  Problem problem;
  // Query 1 of head 2.
  const std::int64_t row = 2 * queries + 1;
  std::fill_n(problem.mask.begin() + row * keys, keys, std::uint8_t{0});
  problem.run<false>(false);
  const auto at = static_cast<std::size_t>(row);
  for (std::int64_t i = 0; i < value_dim; ++i) EXPECT_EQ(problem.out[at * value_dim + static_cast<std::size_t>(i)], 0);
  EXPECT_EQ(problem.lse[at], -INFINITY);
  EXPECT_EQ(problem.entropy[at], 0);
  EXPECT_EQ(problem.maximum[at], -INFINITY);
}

// Beta is 1 below half a nat of entropy: adaptive attention is then attention, bit for bit, but for the rescalings of a
// maximum that attention meets late. The key that every query prefers therefore stands first.
TEST(EmulatedAttention, AdaptiveIsPlainWhereOneKeyDominates) {
  Problem plain, adaptive;
  for (Problem* one : {&plain, &adaptive}) {
    for (std::int64_t head = 0; head < key_heads; ++head) {
      for (std::int64_t i = 0; i < dim; ++i) one->k[static_cast<std::size_t>(head * keys * dim + i)] = 60;
    }
    for (float& x : one->q) x = std::abs(x) + 1;
  }
  plain.run<false>(false);
  adaptive.run<true>(false);
  EXPECT_EQ(plain.out, adaptive.out);
  EXPECT_EQ(plain.lse, adaptive.lse);
  EXPECT_EQ(plain.entropy, adaptive.entropy);
}

// In two parts: clean under every schedule, the same largest scores, and nothing where nothing is seen.
template <bool adaptive>
void compare_with_parts(std::int64_t seen) {
  Problem problem;
  problem.k.resize(static_cast<std::size_t>(key_heads * 2 * keys * dim), 0.25F);
  problem.v.resize(static_cast<std::size_t>(key_heads * 2 * keys * value_dim), 1);
  problem.mask.assign(static_cast<std::size_t>(heads * queries * 2 * keys), 1);
  for (std::size_t i = 0; i < problem.mask.size(); ++i)
    problem.mask[i] = static_cast<std::int64_t>(i) % (2 * keys) < seen;
  SplitArguments<Block, float, float> split;
  split.forward = problem.arguments();
  split.forward.keys = 2 * keys;
  split.forward.k = compact<Arguments::Global<const float>>(problem.k, key_heads, 2 * keys, dim);
  split.forward.v = compact<Arguments::Global<const float>>(problem.v, key_heads, 2 * keys, value_dim);
  split.forward.mask = compact<Arguments::Global<const std::uint8_t>>(problem.mask, heads, queries, 2 * keys);
  ASSERT_EQ(split.parts(), 2);
  const std::size_t items = static_cast<std::size_t>(split.queries() * split.parts());
  std::vector<RowStatistics<float>> statistics(items);
  std::vector<PartState<float>> states(items);
  std::vector<CompensatedSum<float>> columns(items * static_cast<std::size_t>(value_dim));
  split.statistics = std::span(statistics);
  split.states = std::span(states);
  split.columns = std::span(columns);
  const auto expect_clean = [](std::span<std::byte> written, const emulator::Kernel& kernel) {
    const emulator::LaunchReport report = emulator::launch_under_all_schedules(
        {3, attention_threads, attention_bytes<float>(dim)}, {&written, 1}, kernel, 1);
    EXPECT_TRUE(report.clean()) << report.text();
  };
  if (adaptive) {
    expect_clean(std::as_writable_bytes(std::span(statistics)),
                 [&](Block& block) { part_statistics_body(block, split); });
  }
  expect_clean(std::as_writable_bytes(std::span(columns)),
               [&](Block& block) { part_attention_body<adaptive>(block, split); });
  expect_clean(std::as_writable_bytes(std::span(problem.out)),
               [&](Block& block) { merge_parts_body<adaptive>(block, split); });
  const std::vector<float> by_parts = problem.maximum, out = problem.out;
  const Arguments whole = split.forward;
  emulator::launch({2, attention_threads, attention_bytes<float>(dim)},
                   [&](Block& block) { attention_body<adaptive>(block, whole); });
  EXPECT_EQ(by_parts, problem.maximum);
  if (seen == 0) {
    EXPECT_EQ(out, std::vector<float>(out.size()));
  }
}

TEST(EmulatedSplitAttention, IsCleanAndFindsTheSameMaximaUnderEverySchedule) {
  for (const std::int64_t seen : {std::int64_t{0}, std::int64_t{40}, 2 * keys}) {
    compare_with_parts<false>(seen);
    compare_with_parts<true>(seen);
  }
}

// The same problem in bf16, by tensor cores and by a block a query: clean under every schedule, and the same up to what
// narrow weights cost, which is judged beside these tests. Equal here: the largest scores, whose sums are exact.
template <bool adaptive>
void compare_with_mma() {
  Problem problem;
  AttentionArguments<Block, BFloat, float> all;
  std::vector<BFloat> q, k, v, out(problem.out.size());
  for (auto [from, to] : {std::pair(&problem.q, &q), std::pair(&problem.k, &k), std::pair(&problem.v, &v)}) {
    for (const float x : *from) to->push_back(narrowed<BFloat>(std::round(x)));
  }
  all.q = compact<emulator::GlobalView<const BFloat>>(q, heads, queries, dim);
  all.k = compact<emulator::GlobalView<const BFloat>>(k, key_heads, keys, dim);
  all.v = compact<emulator::GlobalView<const BFloat>>(v, key_heads, keys, value_dim);
  all.out = compact<emulator::GlobalView<BFloat>>(out, heads, queries, value_dim);
  all.maximum = compact<emulator::GlobalView<float>>(problem.maximum, heads, queries, 1);
  all.batch = 1;
  all.heads = heads;
  all.key_heads = key_heads;
  all.queries = queries;
  all.keys = keys;
  all.dim = dim;
  all.value_dim = value_dim;
  all.causal = true;
  const std::span<std::byte> written[] = {std::as_writable_bytes(std::span(out)),
                                          std::as_writable_bytes(std::span(problem.maximum))};
  const emulator::LaunchReport report =
      emulator::launch_under_all_schedules({2, mma_threads, mma_bytes<64, BFloat>}, written,
                                           [&](Block& block) { mma_attention_body<adaptive, 64>(block, all); });
  EXPECT_TRUE(report.clean()) << report.text();
  const std::vector<float> by_mma = problem.maximum;
  emulator::launch({2, attention_threads, attention_bytes<float>(dim)},
                   [&](Block& block) { attention_body<adaptive>(block, all); });
  EXPECT_EQ(by_mma, problem.maximum);
}

TEST(EmulatedMmaAttention, IsCleanAndFindsTheSameMaximaUnderEverySchedule) {
  compare_with_mma<false>();
  compare_with_mma<true>();
}

}  // namespace
}  // namespace softcheck::emulator_tests
