// Our attention kernels: what a query's bits depend on, and the conventions that the judge leaves to the contract.
// Values are judged with the zoo (attention_zoo_test.cpp, judge/zoo_test.cpp).
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>

#include "proptests/tests/kernels/loaded_kernel.hpp"

namespace softcheck::kernel_tests {
namespace {

constexpr float attention_infinity = std::numeric_limits<float>::infinity();
constexpr float attention_nan = std::numeric_limits<float>::quiet_NaN();

/// f32 tensors of a call, compact; row r of out, lse and entropy together are result(r).
struct Attention {
  Attention(std::int64_t b, std::int64_t h, std::int64_t kh, std::int64_t nq, std::int64_t nk, std::int64_t dim)
      : batch(b),
        heads(h),
        key_heads(kh),
        queries(nq),
        keys(nk),
        d(dim),
        q(uneven_row<float>(static_cast<std::size_t>(b * h * nq * dim), 1)),
        k(uneven_row<float>(static_cast<std::size_t>(b * kh * nk * dim), 2)),
        v(uneven_row<float>(static_cast<std::size_t>(b * kh * nk * dim), 3)) {
    for (std::vector<float>* values : {&q, &k, &v}) {
      for (float& x : *values) x = x / 16 + 1;  // [-1, 1)
    }
  }

  std::size_t rows() const { return static_cast<std::size_t>(batch * heads * queries); }

  void run(const std::string& symbol) {
    std::vector<std::int64_t> shape_q{batch, heads, queries, d}, shape_k{batch, key_heads, keys, d},
        shape_mask{batch, heads, queries, keys};
    const auto tensor = [](auto& data, std::vector<std::int64_t>& shape, int rank, DLDataType type) {
      return DLTensor{data.data(), {kDLCPU, 0}, rank, type, shape.data(), nullptr, 0};
    };
    out.assign(rows() * static_cast<std::size_t>(d), -7);
    lse.assign(rows(), -7);
    entropy.assign(rows(), -7);
    const DLDataType type = dtype_of<float>();
    const DLTensor tq = tensor(q, shape_q, 4, type), tk = tensor(k, shape_k, 4, type), tv = tensor(v, shape_k, 4, type),
                   tm = tensor(mask, shape_mask, 4, mask_type);
    DLTensor to = tensor(out, shape_q, 4, type), tl = tensor(lse, shape_q, 3, type),
             te = tensor(entropy, shape_q, 3, type);
    std::vector<const DLTensor*> inputs{&tq, &tk, &tv};
    if (!mask.empty()) inputs.push_back(&tm);
    run_call(symbol, inputs, {&to, &tl, &te}, 2, causal);
  }

  std::vector<float> result(std::size_t row) const {
    const auto width = static_cast<std::size_t>(d);
    std::vector<float> values(out.begin() + static_cast<std::ptrdiff_t>(row * width),
                              out.begin() + static_cast<std::ptrdiff_t>((row + 1) * width));
    values.push_back(lse[row]);
    values.push_back(entropy[row]);
    return values;
  }

  std::int64_t batch, heads, key_heads, queries, keys, d;
  bool causal = false;
  std::vector<float> q, k, v;
  std::vector<std::uint8_t> mask;
  std::vector<float> out, lse, entropy;
};

const std::vector<std::string>& attention_symbols() {
  static const std::vector<std::string> symbols = {"softcheck_attention", "softcheck_adaptive_attention"};
  return symbols;
}

/// One query of a call alone, with the keys that causality lets it see and no others.
Attention alone(const Attention& all, std::int64_t b, std::int64_t h, std::int64_t i) {
  const std::int64_t seen = all.causal ? i + 1 + all.keys - all.queries : all.keys;
  const std::int64_t key_head = h / (all.heads / all.key_heads);
  Attention one(1, 1, 1, 1, seen, all.d);
  const auto copy = [&](std::vector<float>& to, const std::vector<float>& from, std::int64_t row) {
    std::copy_n(from.begin() + row * all.d, static_cast<std::int64_t>(to.size()), to.begin());
  };
  copy(one.q, all.q, (b * all.heads + h) * all.queries + i);
  copy(one.k, all.k, (b * all.key_heads + key_head) * all.keys);
  copy(one.v, all.v, (b * all.key_heads + key_head) * all.keys);
  return one;
}

// Tiles, grouped heads, blocks of keys that only other queries see: none of them shows in a query's bits.
TEST(CpuAttention, BitsDependOnTheQuerysRowAlone) {
  for (const bool causal : {false, true}) {
    Attention all(2, 4, 2, 61, 301, 19);
    all.causal = causal;
    for (const std::string& symbol : attention_symbols()) {
      all.run(symbol);
      for (std::int64_t row = 0; row < all.batch * all.heads * all.queries; row += 7) {
        const std::int64_t i = row % all.queries, h = row / all.queries % all.heads;
        Attention one = alone(all, row / all.queries / all.heads, h, i);
        one.run(symbol);
        EXPECT_TRUE(same_bits(one.result(0), all.result(static_cast<std::size_t>(row))))
            << symbol << (causal ? " causal" : "") << " row " << row;
      }
    }
  }
}

TEST(CpuAttention, BitsDependOnNoThreadCountAndNoRun) {
  for (const std::string& symbol : attention_symbols()) {
    Attention call(3, 2, 1, 130, 12000, 16);  // up to 18 tiles, long enough for threads to meet on a busy machine
    call.run(symbol);
    const std::vector<float> out = call.out, lse = call.lse, entropy = call.entropy;
    for (const char* threads : {"1", "2", "3", "8", "1000", "nonsense"}) {
      setenv("SOFTCHECK_THREADS", threads, 1);
      call.run(symbol);
      EXPECT_TRUE(same_bits(call.out, out)) << symbol << " on " << threads;
      EXPECT_TRUE(same_bits(call.lse, lse)) << symbol << " on " << threads;
      EXPECT_TRUE(same_bits(call.entropy, entropy)) << symbol << " on " << threads;
    }
    unsetenv("SOFTCHECK_THREADS");
  }
}

// 52 queries of 8704 keys have more scores than a tile keeps; one query's are kept, by attention as by its gradient.
TEST(CpuAttention, KeptScoresAreThoseOfASecondProduct) {
  Attention all(1, 1, 1, 52, 8704, 8);
  const std::string symbol = "softcheck_adaptive_attention";
  all.run(symbol);
  const auto gradient = [&](const Attention& call) {
    Tensor<float> q(dtype_of<float>(), {1, 1, call.queries, call.d}), k(dtype_of<float>(), {1, 1, call.keys, call.d});
    Tensor<float> v(dtype_of<float>(), k.shape), dq(dtype_of<float>(), q.shape);
    q.elements = call.q;
    k.elements = call.k;
    v.elements = call.v;
    for (Tensor<float>* tensor : {&q, &k, &v}) tensor->view.data = tensor->elements.data();
    run_call(symbol + "_backward", {&q.view, &k.view, &v.view, &q.view}, {&dq.view});
    return dq.elements;
  };
  const std::vector<float> dq = gradient(all);
  for (const std::int64_t row : {0, 47, 51}) {
    Attention one = alone(all, 0, 0, row);
    one.run(symbol);
    EXPECT_TRUE(same_bits(one.result(0), all.result(static_cast<std::size_t>(row)))) << "row " << row;
    EXPECT_TRUE(same_bits(gradient(one), std::vector<float>(dq.begin() + row * all.d, dq.begin() + (row + 1) * all.d)))
        << "row " << row;
  }
}

// Where a tile sees all of a block, too: keys 0 to 127 of 140.
TEST(CpuAttention, AWholeBlockOfNanIsSeen) {
  for (const std::string& symbol : attention_symbols()) {
    for (const float bad : {attention_nan, attention_infinity}) {
      Attention call(1, 1, 1, 7, 140, 5);
      call.k[3 * 5 + 2] = bad;
      std::fill(call.q.begin(), call.q.end(), 0.5f);
      call.run(symbol);
      for (std::size_t row = 0; row < 7; ++row) {
        for (const float x : call.result(row)) EXPECT_TRUE(std::isnan(x)) << symbol << " row " << row;
      }
    }
  }
}

TEST(CpuAttention, AFullyMaskedQueryIsZero) {
  for (const std::string& symbol : attention_symbols()) {
    Attention call(1, 1, 1, 50, 140, 5);
    call.mask.assign(50 * 140, 1);
    std::fill_n(call.mask.begin() + 49 * 140, 140, std::uint8_t{0});
    for (float& x : call.v) x = &x < call.v.data() + 10 ? attention_nan : x;  // of keys 0 and 1
    call.run(symbol);
    EXPECT_TRUE(same_bits(call.result(49), {0, 0, 0, 0, 0, -attention_infinity, 0})) << symbol;
    EXPECT_TRUE(std::isnan(call.result(48)[0])) << symbol;
    EXPECT_FALSE(std::isnan(call.result(48)[6])) << symbol;
  }
}

TEST(CpuAttention, ANanReachesWhatSeesIt) {
  for (const std::string& symbol : attention_symbols()) {
    Attention call(1, 1, 1, 3, 140, 5);
    call.causal = true;  // queries see 138, 139 and 140 keys
    call.k[138 * 5 + 2] = attention_nan;
    call.v[139 * 5 + 1] = attention_nan;
    call.run(symbol);
    for (const float x : call.result(0)) EXPECT_FALSE(std::isnan(x)) << symbol;
    for (const float x : call.result(1)) EXPECT_TRUE(std::isnan(x)) << symbol;
    call.k[138 * 5 + 2] = 0;
    call.run(symbol);
    for (std::size_t c = 0; c < 7; ++c) {
      EXPECT_EQ(std::isnan(call.result(2)[c]), c == 1) << symbol << " column " << c;
      EXPECT_FALSE(std::isnan(call.result(1)[c])) << symbol << " column " << c;
    }
  }
}

// As softmax of a row with +inf has none; a score of -inf is a key that is not seen.
TEST(CpuAttention, AnInfiniteScoreLeavesNoResult) {
  for (const std::string& symbol : attention_symbols()) {
    Attention call(1, 1, 1, 3, 140, 5);
    call.causal = true;  // queries see 138, 139 and 140 keys
    call.k[138 * 5 + 2] = 1e30f;
    call.q[1 * 5 + 2] = 1e30f;
    call.q[2 * 5 + 2] = -1e30f;
    call.run(symbol);
    for (const float x : call.result(0)) EXPECT_FALSE(std::isnan(x)) << symbol;
    for (const float x : call.result(1)) EXPECT_TRUE(std::isnan(x)) << symbol;
    for (const float x : call.result(2)) EXPECT_FALSE(std::isnan(x)) << symbol;
  }
}

// n equal keys: entropy ln n, and beta = 1 where that is above 5.94 nats; 2^20 keys need no more memory than a tile.
TEST(CpuAttention, EqualKeysAreAveraged) {
  for (const std::string& symbol : attention_symbols()) {
    for (const std::int64_t n : {std::int64_t{512}, std::int64_t{1} << 20}) {
      Attention call(1, 1, 1, 1, n, 1);
      std::fill(call.k.begin(), call.k.end(), 0.25f);
      std::fill(call.v.begin(), call.v.end(), 3.0f);
      call.run(symbol);
      const auto log_n = static_cast<float>(std::log(static_cast<double>(n)));
      EXPECT_EQ(call.out[0], 3.0f) << symbol;
      EXPECT_EQ(call.entropy[0], log_n) << symbol;
    }
  }
}

// Queries and keys of no dimensions score 0: values are averaged, by few rows and by tiles of them.
// Values of no columns: nothing to weigh, with and without an entropy asked for.
TEST(CpuAttention, ValuesWithoutColumnsHaveALogSumExp) {
  for (const std::string& symbol : attention_symbols()) {
    for (const std::int64_t queries : {1, 4, 5, 49}) {
      Tensor<float> q(dtype_of<float>(), {1, 1, queries, 2}), k(dtype_of<float>(), {1, 1, 2, 2});
      Tensor<float> v(dtype_of<float>(), {1, 1, 2, 0}), out(dtype_of<float>(), {1, 1, queries, 0});
      Tensor<float> lse(dtype_of<float>(), {1, 1, queries}), entropy(dtype_of<float>(), {1, 1, queries});
      run_call(symbol, {&q.view, &k.view, &v.view}, {&out.view, &lse.view});
      const std::vector<float> alone = lse.elements;
      run_call(symbol, {&q.view, &k.view, &v.view}, {&out.view, &lse.view, &entropy.view});
      for (std::int64_t i = 0; i < queries; ++i) {
        EXPECT_EQ(alone[static_cast<std::size_t>(i)], std::log(2.0f)) << symbol << queries;
        EXPECT_EQ(entropy.elements[static_cast<std::size_t>(i)], std::log(2.0f)) << symbol << queries;
      }
    }
  }
}

TEST(CpuAttention, WithoutDimensionsAveragesTheValues) {
  for (const std::string& symbol : attention_symbols()) {
    for (const std::int64_t queries : {1, 4, 5, 49}) {
      Tensor<float> q(dtype_of<float>(), {1, 1, queries, 0}), k(dtype_of<float>(), {1, 1, 2, 0});
      Tensor<float> v(dtype_of<float>(), {1, 1, 2, 3}), out(dtype_of<float>(), {1, 1, queries, 3});
      v.elements.assign({1, 2, 3, 3, 6, 9});
      v.view.data = v.elements.data();
      run_call(symbol, {&q.view, &k.view, &v.view}, {&out.view});
      for (std::int64_t i = 0; i < 3 * queries; ++i) {
        EXPECT_EQ(out.elements[static_cast<std::size_t>(i)], static_cast<float>(2 * (1 + i % 3))) << queries;
      }
    }
  }
}

/// Makes rows of width numbers repeat after count of them.
void repeat_rows(std::vector<float>& values, std::int64_t count, std::int64_t width) {
  const auto period = static_cast<std::size_t>(count * width);
  for (std::size_t i = period; i < values.size(); ++i) values[i] = values[i - period];
}

// Blocks of 128 keys that are all alike: their sums are equal, so that merging them in a tree rounds nothing, and one
// after the other would.
TEST(CpuAttention, AlikeBlocksHaveTheOutputOfOne) {
  for (const std::string& symbol : attention_symbols()) {
    std::vector<float> one;
    for (const std::int64_t blocks : {1, 2, 32, 1024}) {
      Attention call(1, 1, 1, 1, blocks * 128, 9);
      repeat_rows(call.v, 128, 9);
      std::fill(call.k.begin(), call.k.end(), 0.25f);
      call.run(symbol);
      if (blocks == 1) one = call.out;
      EXPECT_TRUE(same_bits(call.out, one)) << symbol << ", blocks " << blocks;
    }
  }
}

// The same of the gradients: dq over blocks of keys, and dv, which grows with the number of alike tiles of 48 queries.
// All scores are 0.
TEST(CpuAttention, AlikeBlocksHaveTheGradientOfOne) {
  const std::string symbol = "softcheck_attention_backward";
  const std::int64_t d = 9;
  const auto gradients = [&](std::int64_t queries, std::int64_t keys, std::int64_t alike_queries) {
    Attention call(1, 1, 1, queries, keys, d);
    std::fill(call.q.begin(), call.q.end(), 0.0f);
    repeat_rows(call.k, 128, d);
    repeat_rows(call.v, 128, d);
    Tensor<float> q(dtype_of<float>(), {1, 1, queries, d}), incoming(dtype_of<float>(), {1, 1, queries, d});
    Tensor<float> k(dtype_of<float>(), {1, 1, keys, d}), v(dtype_of<float>(), {1, 1, keys, d});
    incoming.elements = uneven_row<float>(static_cast<std::size_t>(queries * d), 5);
    repeat_rows(incoming.elements, alike_queries, d);
    k.elements = call.k;
    v.elements = call.v;
    for (Tensor<float>* tensor : {&incoming, &k, &v}) tensor->view.data = tensor->elements.data();
    Tensor<float> dq(dtype_of<float>(), q.shape), dk(dtype_of<float>(), k.shape), dv(dtype_of<float>(), k.shape);
    run_call(symbol, {&q.view, &k.view, &v.view, &incoming.view}, {&dq.view, &dk.view, &dv.view});
    return std::pair{dq.elements, dv.elements};
  };
  const std::vector<float> dq = gradients(1, 128, 1).first, dv = gradients(48, 128, 48).second;
  for (const std::int64_t blocks : {2, 32, 1024}) {
    EXPECT_TRUE(same_bits(gradients(1, blocks * 128, 1).first, dq)) << "blocks " << blocks;
    std::vector<float> grown = dv;
    for (float& x : grown) x *= static_cast<float>(blocks);
    EXPECT_TRUE(same_bits(gradients(blocks * 48, 128, 48).second, grown)) << "tiles " << blocks;
  }
}

}  // namespace
}  // namespace softcheck::kernel_tests
