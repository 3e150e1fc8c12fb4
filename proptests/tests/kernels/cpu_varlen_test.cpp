// Packed sequences of different lengths: the bits of a call for each, and what is refused.
#include <gtest/gtest.h>

#include <cstdlib>

#include "proptests/tests/kernels/loaded_kernel.hpp"

namespace softcheck::kernel_tests {
namespace {

using Lengths = std::vector<std::int64_t>;

Lengths cumulative(const Lengths& lengths) {
  Lengths ends{0};
  for (const std::int64_t n : lengths) ends.push_back(ends.back() + n);
  return ends;
}

/// Packed f32 tensors: q (all, heads, d), k and v (all, key heads, d), with some places behind the last sequence.
struct Packed {
  static constexpr std::int64_t heads = 4, key_heads = 2, d = 19, behind = 3;

  Packed(const Lengths& of_queries, const Lengths& of_keys)
      : query_ends(cumulative(of_queries)),
        key_ends(cumulative(of_keys)),
        queries(query_ends.back() + behind),
        keys(key_ends.back() + behind),
        q(uneven_row<float>(static_cast<std::size_t>(queries * heads * d), 1)),
        k(uneven_row<float>(static_cast<std::size_t>(keys * key_heads * d), 2)),
        v(uneven_row<float>(static_cast<std::size_t>(keys * key_heads * d), 3)) {
    for (std::vector<float>* values : {&q, &k, &v}) {
      for (float& x : *values) x = x / 16 + 1;  // [-1, 1)
    }
    out.assign(q.size(), -7);
    lse.assign(static_cast<std::size_t>(queries * heads), -7);
    entropy = lse;
  }

  static DLTensor tensor(void* data, Lengths& shape, std::int64_t* strides = nullptr,
                         DLDataType type = dtype_of<float>()) {
    return {data, {kDLCPU, 0}, static_cast<int>(shape.size()), type, shape.data(), strides, 0};
  }

  /// ends of any type; whether the call was taken.
  template <class Index>
  bool run(const std::string& symbol, std::vector<Index> ends_q, std::vector<Index> ends_k, bool causal,
           std::uint8_t code = kDLInt, std::uint8_t bits = 8 * sizeof(Index)) {
    Lengths shape_q{queries, heads, d}, shape_k{keys, key_heads, d}, shape_rows{heads, queries};
    Lengths shape_ends_q{static_cast<std::int64_t>(ends_q.size())};
    Lengths shape_ends_k{static_cast<std::int64_t>(ends_k.size())};
    const DLDataType index{code, bits, 1};
    const DLTensor tq = tensor(q.data(), shape_q), tk = tensor(k.data(), shape_k), tv = tensor(v.data(), shape_k);
    const DLTensor eq = tensor(ends_q.data(), shape_ends_q, nullptr, index);
    const DLTensor ek = tensor(ends_k.data(), shape_ends_k, nullptr, index);
    DLTensor to = tensor(out.data(), shape_q), tl = tensor(lse.data(), shape_rows),
             te = tensor(entropy.data(), shape_rows);
    const DLTensor* inputs[] = {&tq, &tk, &tv, &eq, &ek};
    DLTensor* outputs[] = {&to, &tl, &te};
    const softcheck_call call{SOFTCHECK_KERNEL_ABI_VERSION, 5, 3, inputs, outputs, 1.0, 2.0, causal ? 1 : 0, nullptr};
    const softcheck_kernel kernel = cpu_kernel(symbol + "_varlen");
    return kernel != nullptr && kernel(&call) == 0;
  }

  /// Sequence by sequence, through strides.
  void run_each(const std::string& symbol, bool causal) {
    for (std::size_t i = 0; i + 1 < query_ends.size(); ++i) {
      const std::int64_t n = query_ends[i + 1] - query_ends[i], m = key_ends[i + 1] - key_ends[i];
      Lengths shape_q{1, heads, n, d}, shape_k{1, key_heads, m, d}, shape_rows{1, heads, n};
      Lengths steps_q{1, d, heads * d, 1}, steps_k{1, d, key_heads * d, 1}, steps_rows{1, queries, 1};
      float* at_q = q.data() + query_ends[i] * heads * d;
      const DLTensor tq = tensor(at_q, shape_q, steps_q.data());
      const DLTensor tk = tensor(k.data() + key_ends[i] * key_heads * d, shape_k, steps_k.data());
      const DLTensor tv = tensor(v.data() + key_ends[i] * key_heads * d, shape_k, steps_k.data());
      DLTensor to = tensor(out.data() + query_ends[i] * heads * d, shape_q, steps_q.data());
      DLTensor tl = tensor(lse.data() + query_ends[i], shape_rows, steps_rows.data());
      DLTensor te = tensor(entropy.data() + query_ends[i], shape_rows, steps_rows.data());
      run_call(symbol, {&tq, &tk, &tv}, {&to, &tl, &te}, 2, causal);
    }
  }

  Lengths query_ends, key_ends;
  std::int64_t queries, keys;
  std::vector<float> q, k, v, out, lse, entropy;
};

const Lengths query_lengths{0, 5, 61, 1, 1, 0, 130, 2}, key_lengths{7, 5, 200, 0, 700, 0, 301, 2};

TEST(CpuVarlen, ASequencesBitsAreThoseOfItsOwnCall) {
  for (const std::string symbol : {"softcheck_attention", "softcheck_adaptive_attention"}) {
    for (const bool causal : {false, true}) {
      Packed each(query_lengths, key_lengths);
      each.run_each(symbol, causal);
      for (const char* threads : {"1", "3"}) {
        setenv("SOFTCHECK_THREADS", threads, 1);
        Packed wide(query_lengths, key_lengths), narrow(query_lengths, key_lengths);
        EXPECT_TRUE(wide.run(symbol, wide.query_ends, wide.key_ends, causal));
        EXPECT_TRUE(narrow.run(symbol, std::vector<std::int32_t>(wide.query_ends.begin(), wide.query_ends.end()),
                               std::vector<std::int32_t>(wide.key_ends.begin(), wide.key_ends.end()), causal));
        for (const Packed* packed : {&wide, &narrow}) {
          EXPECT_TRUE(same_bits(packed->out, each.out)) << symbol;
          EXPECT_TRUE(same_bits(packed->lse, each.lse)) << symbol;
          EXPECT_TRUE(same_bits(packed->entropy, each.entropy)) << symbol;
        }
      }
      unsetenv("SOFTCHECK_THREADS");
      EXPECT_EQ(each.out.back(), -7);  // behind the last sequence
      EXPECT_NE(each.out[static_cast<std::size_t>(each.query_ends.back() * Packed::heads * Packed::d - 1)], -7);
    }
  }
}

TEST(CpuVarlen, AQueryWithoutKeysIsZero) {
  Packed packed({3}, {0});
  ASSERT_TRUE(packed.run("softcheck_attention", packed.query_ends, packed.key_ends, false));
  EXPECT_EQ(packed.out[0], 0);
  EXPECT_EQ(packed.lse[2], -std::numeric_limits<float>::infinity());
  EXPECT_EQ(packed.entropy[2], 0);
}

TEST(CpuVarlen, MalformedLengthsAreRefused) {
  Packed packed({5, 4}, {6, 3});  // and 3 places behind
  const auto taken = [&](const Lengths& ends_q, const Lengths& ends_k) {
    return packed.run("softcheck_attention", ends_q, ends_k, false) &&
           packed.run("softcheck_adaptive_attention", ends_q, ends_k, true);
  };
  EXPECT_TRUE(taken({0, 5, 9}, {0, 6, 9}));
  EXPECT_TRUE(taken({0, 5, 12}, {0, 0, 12}));
  EXPECT_TRUE(taken({0}, {0}));
  EXPECT_FALSE(taken({1, 5, 9}, {0, 6, 9}));
  EXPECT_FALSE(taken({0, 5, 9}, {-1, 6, 9}));
  EXPECT_FALSE(taken({0, 5, 4}, {0, 6, 9}));
  EXPECT_FALSE(taken({0, 5, 9}, {0, 6, 5}));
  EXPECT_FALSE(taken({0, 5, 13}, {0, 6, 9}));
  EXPECT_FALSE(taken({0, 13, 9}, {0, 6, 9}));
  EXPECT_FALSE(taken({0, 5, 9}, {0, 6, 13}));
  EXPECT_FALSE(taken({0, 5, 9}, {0, 9}));
  EXPECT_FALSE(taken({}, {}));
  // Zeros are zeros in any type.
  for (const auto& [code, bits] : {std::pair{kDLInt, 16}, {kDLInt, 8}, {kDLUInt, 32}, {kDLFloat, 32}, {kDLFloat, 64}}) {
    EXPECT_FALSE(packed.run("softcheck_attention", Lengths{0, 0}, Lengths{0, 0}, false, static_cast<std::uint8_t>(code),
                            static_cast<std::uint8_t>(bits)))
        << code << " " << bits;
  }
}

}  // namespace
}  // namespace softcheck::kernel_tests
