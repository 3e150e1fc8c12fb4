// Attention whose keys are shared by ranks: its bits are the same for any number of ranks and any route, and for many
// keys those of the CPU's kernel. Values are judged with the zoo (judge/zoo_test.cpp).
#include <gtest/gtest.h>

#include <cmath>
#include <optional>
#include <string>
#include <vector>

#include "proptests/tests/kernels/attention_tensors.hpp"

namespace softcheck::kernel_tests {
namespace {

/// Every way in which ranks share keys, but that of one rank.
const std::string rank_prefixes[] = {"2_", "3_", "4_", "8_", "4_ring_", "8_ring_", "8_reduction_"};

softcheck_kernel rank_kernel(const std::string& prefix, const std::string& op) {
  return load_kernel("softcheck_parallel_kernels", "softcheck_ranks_" + prefix + op);
}

/// Sizes about leaves of 16, 32, 64 and 128 keys and about powers of two of them; no keys, no query, blind queries.
std::vector<AttentionShape> rank_problems() {
  std::vector<AttentionShape> problems;
  for (const std::int64_t keys : {0, 1, 16, 17, 33, 130, 255, 256, 257, 300, 640, 1024, 1025, 1500, 2048, 2900}) {
    problems.push_back({1, 4, 2, 30, keys, 7, 18});
    problems.push_back({2, 2, 1, 61, keys, 16, 5, true});
    problems.push_back({1, 2, 1, 9, keys, 3, 16, false, true});
  }
  problems.push_back({1, 1, 1, 1, 5000, 32, 32});
  problems.push_back({1, 1, 1, 0, 40, 4, 4});
  problems.push_back({1, 1, 1, 700, 690, 8, 8, true});  // the first ten queries see no key
  return problems;
}

std::string name_of(const AttentionShape& of) {
  return std::to_string(of.queries) + " queries, " + std::to_string(of.keys) + " keys" + (of.causal ? ", causal" : "") +
         (of.masked ? ", masked" : "");
}

AttentionTensors<float> call_of(const AttentionShape& shape) {
  AttentionTensors<float> call(shape);
  for (std::size_t i = 0; i < call.mask.elements.size(); ++i) call.mask[i] = i % 7 == 3 || i % 100 < 20 ? 0 : 1;
  return call;
}

/// All results of a kernel, forward or backward; nothing where it is missing or refuses the call.
std::optional<std::vector<float>> numbers_of(AttentionTensors<float>& call, softcheck_kernel kernel, bool backward) {
  if (!(backward ? call.differentiate(kernel) : call.attend(kernel))) return std::nullopt;
  return backward ? call.gradients() : call.results();
}
std::optional<std::vector<float>> numbers_of(AttentionTensors<float>& call, const std::string& prefix,
                                             const std::string& op) {
  return numbers_of(call, rank_kernel(prefix, op), op.ends_with("backward"));
}

void expect_bits_of_one_rank(const std::string& pass) {
  for (const AttentionShape& shape : rank_problems()) {
    AttentionTensors<float> call = call_of(shape);
    for (const std::string& op : {"attention" + pass, "adaptive_attention" + pass}) {
      const auto one = numbers_of(call, "1_", op);
      ASSERT_TRUE(one) << op << " " << name_of(shape);
      for (const std::string& prefix : rank_prefixes) {
        const auto several = numbers_of(call, prefix, op);
        ASSERT_TRUE(several) << prefix << op << " " << name_of(shape);
        EXPECT_TRUE(same_bits(*several, *one)) << prefix << op << " " << name_of(shape);
      }
    }
  }
}

TEST(ParallelAttention, BitsAreThoseOfOneRank) { expect_bits_of_one_rank(""); }
// Labelled full: ParallelAttention.BitsOfGradientsAreThoseOfOneRank
TEST(ParallelAttention, BitsOfGradientsAreThoseOfOneRank) { expect_bits_of_one_rank("_backward"); }

TEST(ParallelAttention, BitsOfManyKeysAreThoseOfTheCpuKernel) {
  int compared = 0;
  for (const AttentionShape& shape : rank_problems()) {
    if (shape.keys <= 1024) continue;
    ++compared;
    AttentionTensors<float> call = call_of(shape);
    for (const std::string op : {"attention", "adaptive_attention"}) {
      const auto alone = numbers_of(call, cpu_kernel("softcheck_" + op), false), shared = numbers_of(call, "8_", op);
      ASSERT_TRUE(alone && shared) << op << " " << name_of(shape);
      EXPECT_TRUE(same_bits(*shared, *alone)) << op << " " << name_of(shape);
    }
  }
  EXPECT_GE(compared, 10);
}

// The reduction combines in the order in which ranks arrive, which chance decides.
TEST(ParallelAttention, BitsDependOnNoOrderOfArrival) {
  AttentionTensors<float> call({1, 2, 1, 20, 900, 8, 8, true});
  for (const std::string op : {"adaptive_attention", "attention_backward"}) {
    const auto first = numbers_of(call, "8_reduction_", op);
    ASSERT_TRUE(first);
    for (int run = 0; run < 30; ++run) {
      const auto again = numbers_of(call, "8_reduction_", op);
      ASSERT_TRUE(again);
      EXPECT_TRUE(same_bits(*again, *first)) << op << ", run " << run;
    }
  }
}

// NaN in a key or a value that one rank has reaches the queries that see it, and no others.
TEST(ParallelAttention, ANanOfOneRankReachesWhatSeesIt) {
  for (const std::string& prefix : rank_prefixes) {
    AttentionTensors<float> call({1, 1, 1, 300, 300, 4, 4, true});
    const auto clean = numbers_of(call, prefix, "attention");
    call.k[200 * 4] = std::numeric_limits<float>::quiet_NaN();
    const auto hit = numbers_of(call, prefix, "attention");
    const auto gradient = numbers_of(call, prefix, "attention_backward");
    ASSERT_TRUE(clean && hit && gradient) << prefix;
    for (std::size_t query = 0; query < 300; ++query) {
      for (std::size_t c = 4 * query; c < 4 * query + 4; ++c) {
        EXPECT_EQ(std::isnan((*hit)[c]), query >= 200) << prefix << " query " << query;
        if (query < 200) {
          EXPECT_EQ((*hit)[c], (*clean)[c]) << prefix << " query " << query;
        }
        EXPECT_EQ(std::isnan((*gradient)[c]), query >= 200) << prefix << " query " << query;
      }
    }
  }
}

TEST(ParallelAttention, CallsOfOtherFormsAreRefused) {
  F32 q({1, 1, 2, 4}), k({1, 1, 40, 4}), v(k), out(q), short_out({1, 1, 2, 3});
  const softcheck_kernel kernel = rank_kernel("4_", "attention");
  EXPECT_TRUE(takes_call(kernel, {&q.view, &k.view, &v.view}, {&out.view}));
  EXPECT_FALSE(takes_call(kernel, {&q.view, &k.view, &v.view}, {&short_out.view}));
  EXPECT_FALSE(takes_call(kernel, {&q.view, &k.view}, {&out.view}));
}

}  // namespace
}  // namespace softcheck::kernel_tests
