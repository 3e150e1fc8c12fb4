// Our attention kernels: what a query's bits depend on, and the conventions that the judge leaves to the contract.
// Values are judged with the zoo (attention_zoo_test.cpp, judge/zoo_test.cpp).
#include <gtest/gtest.h>

#include <cmath>

#include "proptests/tests/kernels/attention_tensors.hpp"

namespace softcheck::kernel_tests {
namespace {

using Attention = AttentionTensors<float>;

constexpr float attention_infinity = std::numeric_limits<float>::infinity();
constexpr float attention_nan = std::numeric_limits<float>::quiet_NaN();
const std::string attention_symbols[] = {"softcheck_attention", "softcheck_adaptive_attention"};

// Tiles, grouped heads, blocks of keys that only other queries see: none of them shows in a query's bits.
TEST(CpuAttention, BitsDependOnTheQuerysRowAlone) {
  for (const bool causal : {false, true}) {
    for (const std::string& symbol : attention_symbols) {
      expect_bits_of_each_query_alone(Attention({2, 4, 2, 61, 301, 19, 19, causal}), symbol, 7);
    }
  }
}

// Up to 18 tiles, long enough for threads to meet on a busy machine.
TEST(CpuAttention, BitsDependOnNoThreadCountAndNoRun) {
  for (const std::string& symbol : attention_symbols) {
    expect_bits_of_any_threads(Attention({3, 2, 1, 130, 12000, 16, 16}), symbol);
  }
}

// 52 queries of 8704 keys have more scores than a tile keeps; one query's are kept, by attention as by its gradient.
TEST(CpuAttention, KeptScoresAreThoseOfASecondProduct) {
  const std::string symbol = "softcheck_adaptive_attention";
  const auto run = [&](Attention& call) {
    call.run(symbol);
    EXPECT_TRUE(call.differentiate(cpu_kernel(symbol + "_backward"), 1));
  };
  Attention all({1, 1, 1, 52, 8704, 8, 8});
  run(all);
  for (const std::int64_t row : {0, 47, 51}) {
    Attention one = alone(all, row);
    run(one);
    EXPECT_TRUE(same_bits(one.result(0), all.result(static_cast<std::size_t>(row)))) << "row " << row;
    const auto dq = all.dq.elements.begin() + row * 8;
    EXPECT_TRUE(same_bits(one.dq.elements, std::vector<float>(dq, dq + 8))) << "row " << row;
  }
}

// Where a tile sees all of a block, too: keys 0 to 127 of 140.
TEST(CpuAttention, AWholeBlockOfNanIsSeen) {
  for (const std::string& symbol : attention_symbols) {
    for (const float bad : {attention_nan, attention_infinity}) {
      Attention call({1, 1, 1, 7, 140, 5, 5});
      call.k[3 * 5 + 2] = bad;
      std::ranges::fill(call.q.elements, 0.5f);
      call.run(symbol);
      for (const float x : call.results()) EXPECT_TRUE(std::isnan(x)) << symbol;
    }
  }
}

TEST(CpuAttention, AFullyMaskedQueryIsZero) {
  for (const std::string& symbol : attention_symbols) expect_a_fully_masked_query_is_zero<float>(symbol);
}

/// Three queries that see 138, 139 and 140 keys.
Attention three_queries() { return Attention({1, 1, 1, 3, 140, 5, 5, true}); }

TEST(CpuAttention, ANanReachesWhatSeesIt) {
  for (const std::string& symbol : attention_symbols) {
    Attention call = three_queries();
    call.k[138 * 5 + 2] = attention_nan;
    call.v[139 * 5 + 1] = attention_nan;
    call.run(symbol);
    for (const float x : call.result(0)) EXPECT_FALSE(std::isnan(x)) << symbol;
    for (const float x : call.result(1)) EXPECT_TRUE(std::isnan(x)) << symbol;
    call.k[138 * 5 + 2] = 0;
    call.run(symbol);
    for (std::size_t c = 0; c < 8; ++c) {
      EXPECT_EQ(std::isnan(call.result(2)[c]), c == 1) << symbol << " column " << c;
      EXPECT_FALSE(std::isnan(call.result(1)[c])) << symbol << " column " << c;
    }
  }
}

// As softmax of a row with +inf has none; a score of -inf is a key that is not seen.
TEST(CpuAttention, AnInfiniteScoreLeavesNoResult) {
  for (const std::string& symbol : attention_symbols) {
    Attention call = three_queries();
    call.k[138 * 5 + 2] = 1e30f;
    call.q[1 * 5 + 2] = 1e30f;
    call.q[2 * 5 + 2] = -1e30f;
    call.run(symbol);
    for (const std::size_t row : {0, 1, 2}) {
      for (const float x : call.result(row)) EXPECT_EQ(std::isnan(x), row == 1) << symbol << " row " << row;
    }
  }
}

// beta = 1 where the entropy is above 5.94 nats; 2^20 keys need no more memory than a tile.
TEST(CpuAttention, EqualKeysAreAveraged) {
  for (const std::string& symbol : attention_symbols) {
    for (const std::int64_t n : {std::int64_t{512}, std::int64_t{1} << 20}) {
      expect_equal_keys_are_averaged<float>(symbol, n);
    }
  }
}

// Values of no columns: nothing to weigh, with and without an entropy asked for. By few rows and by tiles of them.
TEST(CpuAttention, ValuesWithoutColumnsHaveALogSumExp) {
  for (const std::string& symbol : attention_symbols) {
    for (const std::int64_t queries : {1, 4, 5, 49}) {
      F32 q({1, 1, queries, 2}), k({1, 1, 2, 2}), v({1, 1, 2, 0}), out({1, 1, queries, 0});
      F32 lse({1, 1, queries}), entropy({1, 1, queries});
      run_call(symbol, {&q.view, &k.view, &v.view}, {&out.view, &lse.view});
      const std::vector<float> log_2(static_cast<std::size_t>(queries), std::log(2.0f));
      EXPECT_EQ(lse.elements, log_2) << symbol << queries;
      run_call(symbol, {&q.view, &k.view, &v.view}, {&out.view, &lse.view, &entropy.view});
      EXPECT_EQ(entropy.elements, log_2) << symbol << queries;
    }
  }
}

// Queries and keys of no dimensions score 0.
TEST(CpuAttention, WithoutDimensionsAveragesTheValues) {
  for (const std::string& symbol : attention_symbols) {
    for (const std::int64_t queries : {1, 4, 5, 49}) {
      F32 q({1, 1, queries, 0}), k({1, 1, 2, 0}), v({1, 1, 2, 3}), out({1, 1, queries, 3});
      v.set({1, 2, 3, 3, 6, 9});
      run_call(symbol, {&q.view, &k.view, &v.view}, {&out.view});
      for (std::size_t i = 0; i < out.elements.size(); ++i) {
        EXPECT_EQ(out[i], static_cast<float>(2 * (1 + i % 3))) << queries;
      }
    }
  }
}

/// Makes rows of a tensor repeat after count of them.
void repeat_rows(Tensor<float>& tensor, std::int64_t count) {
  const auto period = static_cast<std::size_t>(count * tensor.shape[3]);
  for (std::size_t i = period; i < tensor.elements.size(); ++i) tensor[i] = tensor[i - period];
}

// Blocks of 128 keys that are all alike: their sums are equal, so that merging them in a tree rounds nothing, and one
// after the other would.
TEST(CpuAttention, AlikeBlocksHaveTheOutputOfOne) {
  for (const std::string& symbol : attention_symbols) {
    std::vector<float> one;
    for (const std::int64_t blocks : {1, 2, 32, 1024}) {
      Attention call({1, 1, 1, 1, blocks * 128, 9, 9});
      repeat_rows(call.v, 128);
      std::ranges::fill(call.k.elements, 0.25f);
      call.run(symbol);
      if (blocks == 1) one = call.out.elements;
      EXPECT_TRUE(same_bits(call.out.elements, one)) << symbol << ", blocks " << blocks;
    }
  }
}

// The same of the gradients: dq over blocks of keys, and dv, which grows with the number of alike tiles of 48 queries.
// All scores are 0.
TEST(CpuAttention, AlikeBlocksHaveTheGradientOfOne) {
  const auto differentiated = [](std::int64_t queries, std::int64_t keys, std::int64_t alike_queries) {
    Attention call({1, 1, 1, queries, keys, 9, 9});
    std::ranges::fill(call.q.elements, 0.0f);
    repeat_rows(call.k, 128);
    repeat_rows(call.v, 128);
    repeat_rows(call.d_out, alike_queries);
    EXPECT_TRUE(call.differentiate(cpu_kernel("softcheck_attention_backward")));
    return call;
  };
  const std::vector<float> dq = differentiated(1, 128, 1).dq.elements, dv = differentiated(48, 128, 48).dv.elements;
  for (const std::int64_t blocks : {2, 32, 1024}) {
    EXPECT_TRUE(same_bits(differentiated(1, blocks * 128, 1).dq.elements, dq)) << "blocks " << blocks;
    std::vector<float> grown = dv;
    for (float& x : grown) x *= static_cast<float>(blocks);
    EXPECT_TRUE(same_bits(differentiated(blocks * 48, 128, 48).dv.elements, grown)) << "tiles " << blocks;
  }
}

}  // namespace
}  // namespace softcheck::kernel_tests
