// Our attention kernels: what a query's bits depend on, and the conventions that the judge leaves to the contract.
// Values are judged with the zoo (judge/zoo_test.cpp).
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <functional>

#include "proptests/tests/kernels/attention_tensors.hpp"
#include "proptests/tests/kernels/packed_problem.hpp"

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
TEST(CpuAttention, StoredScoresAreThoseOfASecondProduct) {
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

// Packed sequences of different lengths, forward and backward: the bits of a call for each, and what is refused.

constexpr std::int64_t room = 5;

struct Packed : PackedProblem<float, float> {
  Packed(const Lengths& of_queries, const Lengths& of_keys)
      : PackedProblem({of_queries, of_keys, 4, 2, 19, 21, 3, 3, room}, dtype_of<float>(),
                      [](double x) { return static_cast<float>(x); }) {}
};

const std::string directions[] = {"softcheck_attention", "softcheck_adaptive_attention", "softcheck_attention_backward",
                                  "softcheck_adaptive_attention_backward", "softcheck_attention_statistics"};
softcheck_kernel packed_kernel(const std::string& symbol) { return cpu_kernel(symbol + "_varlen"); }

const Lengths query_lengths{0, 5, 61, 1, 1, 0, 130, 2}, key_lengths{7, 5, 200, 0, 700, 0, 301, 2};

TEST(CpuVarlen, ASequencesBitsAreThoseOfItsOwnCall) {
  for (const std::string& of : directions) {
    for (const bool causal : {false, true}) {
      Packed each(query_lengths, key_lengths);
      ASSERT_TRUE(each.run_each(cpu_kernel(of), pass_of(of), causal));
      on_threads({"1", "3"}, [&] {
        Packed wide(query_lengths, key_lengths), narrow(query_lengths, key_lengths);
        EXPECT_TRUE(wide.run(packed_kernel(of), pass_of(of), causal));
        EXPECT_TRUE(narrow.run(packed_kernel(of), pass_of(of), narrowed(wide.query_offsets), narrowed(wide.key_offsets),
                               causal, 3));
        EXPECT_TRUE(wide.same_results(each)) << of << ", causal " << causal;
        EXPECT_TRUE(narrow.same_results(each)) << of << ", causal " << causal;
      });
      const PackedTensor<float>& written = pass_of(of) == Pass::backward  ? each.dq
                                           : pass_of(of) == Pass::forward ? each.out
                                                                          : each.squares;
      const std::int64_t behind = each.query_offsets.back() * (written.shape.size() == 2 ? 1 : written.strides[0]);
      EXPECT_EQ(written.elements.back(), -7);  // behind the last sequence
      EXPECT_NE(written.elements[static_cast<std::size_t>(behind - (written.shape.size() == 2 ? 0 : room) - 1)], -7);
    }
  }
}

// Where dk and dv of the longest sequence have no room for sums of all its keys, here beside a sequence without
// queries, they come from a second pass: with the same bits, on any number of threads.
TEST(CpuVarlen, TwoPassesHaveTheBitsOfOne) {
  const PackedShape shape{{300, 0}, {290, std::int64_t{1} << 20}, 2, 1, 3, 2, 0, 0, 0};
  const auto problem = [&] {
    return PackedProblem<float, float>(shape, dtype_of<float>(), [](double x) { return static_cast<float>(x); });
  };
  const std::string of = "softcheck_attention_backward";
  for (const bool causal : {false, true}) {
    auto each = problem();
    on_threads({"3", "1"}, [&] {
      auto packed = problem();
      ASSERT_TRUE(each.run_each(cpu_kernel(of), pass_of(of), causal));
      ASSERT_TRUE(packed.run(packed_kernel(of), pass_of(of), causal));
      EXPECT_TRUE(packed.same_results(each)) << "causal " << causal;
    });
  }
}

// As many results as are asked for; the others stay as they were.
TEST(CpuVarlen, GivesWhatIsAskedFor) {
  for (const std::string& of : directions) {
    for (const std::size_t results : {1, 2}) {
      Packed each({3, 1}, {2, 5}), packed({3, 1}, {2, 5});
      each.results = packed.results = results;
      ASSERT_TRUE(each.run_each(cpu_kernel(of), pass_of(of), false));
      ASSERT_TRUE(packed.run(packed_kernel(of), pass_of(of), false));
      EXPECT_TRUE(packed.same_results(each)) << of << ' ' << results;
      for (const PackedTensor<float>* last : {&packed.dv, &packed.entropy, &packed.deviations}) {
        EXPECT_EQ(last->elements[0], -7);
      }
    }
  }
}

// A call of version 1 handed on as one of version 2.
struct SecondVersion {
  softcheck_kernel kernel;
  std::uint32_t op = SOFTCHECK_OP_ATTENTION;
  std::array<std::uint32_t, 5> roles = {SOFTCHECK_ROLE_QUERY, SOFTCHECK_ROLE_KEY, SOFTCHECK_ROLE_VALUE,
                                        SOFTCHECK_ROLE_CU_Q, SOFTCHECK_ROLE_CU_K};
  softcheck_attributes attributes{};

  static inline SecondVersion* made = nullptr;
  static int run(const softcheck_call* call) {
    softcheck_call_2 whole{*call, made->op, made->roles.data(), &made->attributes};
    whole.call.abi_version = SOFTCHECK_KERNEL_ABI_VERSION_2;
    return made->kernel(&whole.call);
  }
};

TEST(CpuVarlen, VersionTwoOfACallSaysTheSame) {
  const softcheck_kernel attention = packed_kernel("softcheck_attention");
  Packed first(query_lengths, key_lengths), second(query_lengths, key_lengths);
  ASSERT_TRUE(first.run(attention, Pass::forward, true));
  const auto takes = [&](softcheck_kernel kernel, auto change) {
    SecondVersion version{kernel};
    version.attributes.size = sizeof version.attributes;
    change(version);
    SecondVersion::made = &version;
    return second.run(SecondVersion::run, Pass::forward, true);
  };
  EXPECT_TRUE(takes(attention, [](SecondVersion&) {}));
  EXPECT_TRUE(second.same_results(first));
  EXPECT_FALSE(takes(attention, [](SecondVersion& of) { of.attributes.window_left_plus_1 = 1; }));
  EXPECT_FALSE(takes(attention, [](SecondVersion& of) { of.attributes.softcap = 30; }));
  EXPECT_FALSE(takes(attention, [](SecondVersion& of) { of.roles[4] = SOFTCHECK_ROLE_LENGTHS; }));
  // Another op has a symbol of its own.
  const softcheck_kernel adaptive = packed_kernel("softcheck_adaptive_attention");
  EXPECT_FALSE(takes(adaptive, [](SecondVersion&) {}));
  EXPECT_TRUE(takes(adaptive, [](SecondVersion& of) { of.op = SOFTCHECK_OP_ADAPTIVE_ATTENTION; }));
}

TEST(CpuVarlen, AQueryWithoutKeysIsZero) {
  Packed packed({3}, {0});
  for (const std::string& of : directions) ASSERT_TRUE(packed.run(packed_kernel(of), pass_of(of), false));
  EXPECT_EQ(packed.out.elements[0], 0);
  EXPECT_EQ(packed.lse.elements[2], -std::numeric_limits<float>::infinity());
  EXPECT_EQ(packed.entropy.elements[2], 0);
  EXPECT_EQ(packed.maximum.elements[2], -std::numeric_limits<float>::infinity());
  EXPECT_EQ(packed.sums.elements[2], -1);
  EXPECT_EQ(packed.deviations.elements[2], 0);
  EXPECT_EQ(packed.squares.elements[2], 0);
  EXPECT_EQ(packed.dq.elements[0], 0);
}

// Nobody sees them.
TEST(CpuVarlen, KeysWithoutQueriesHaveNoGradient) {
  Packed packed({0}, {3});
  for (const std::string& of : directions) ASSERT_TRUE(packed.run(packed_kernel(of), pass_of(of), false));
  EXPECT_EQ(packed.dk.elements[0], 0);
  EXPECT_EQ(packed.dv.elements[0], 0);
}

TEST(CpuVarlen, MalformedLengthsAreRefused) {
  Packed packed({5, 4}, {6, 3});  // and 3 places behind
  // All of them, or none.
  const auto taken = [&](const Lengths& ends_q, const Lengths& ends_k) {
    std::size_t count = 0;
    for (const std::string& of : directions)
      count += packed.run(packed_kernel(of), pass_of(of), ends_q, ends_k, pass_of(of) == Pass::backward);
    EXPECT_TRUE(count == 0 || count == std::size(directions));
    return count > 0;
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
    const DLDataType index{static_cast<std::uint8_t>(code), static_cast<std::uint8_t>(bits), 1};
    for (const std::string& of : directions) {
      EXPECT_FALSE(packed.run(packed_kernel(of), pass_of(of), Lengths{0, 0}, Lengths{0, 0}, false, 1, index))
          << of << ' ' << code << ' ' << bits;
    }
  }
}

// Each field of a tensor of lengths by itself, and a tensor more or less.
TEST(CpuVarlen, MalformedTensorsOfLengthsAreRefused) {
  Packed packed({5, 4}, {6, 3});
  std::int64_t still = 0, two[] = {3, 1};
  const std::vector<std::function<void(DLTensor&)>> changes = {
      [](DLTensor& t) { t.device.device_type = kDLCUDA; },
      [&](DLTensor& t) { t.ndim = 2, t.shape = two, t.strides = nullptr; },
      [](DLTensor& t) { t.dtype.lanes = 2; },
      [](DLTensor& t) { t.data = nullptr; },
      [](DLTensor& t) { t.shape = nullptr; },
      [&](DLTensor& t) { t.strides = &still; }};
  for (const std::string& of : directions) {
    const auto taken = [&](const std::function<void(std::vector<DLTensor>&)>& change) {
      return packed.run_changed(packed_kernel(of), pass_of(of), packed.query_offsets, packed.key_offsets, false, 1,
                                {kDLInt, 64, 1}, change);
    };
    EXPECT_TRUE(taken([](std::vector<DLTensor>&) {}));
    for (std::size_t i = 0; i < changes.size(); ++i) {
      EXPECT_FALSE(taken([&](std::vector<DLTensor>& in) { changes[i](in.back()); })) << of << ", change " << i;
      EXPECT_FALSE(taken([&](std::vector<DLTensor>& in) { changes[i](in[in.size() - 2]); })) << of << ' ' << i;
    }
    EXPECT_FALSE(taken([](std::vector<DLTensor>& in) { in.pop_back(); })) << of;
    EXPECT_FALSE(taken([](std::vector<DLTensor>& in) { in.push_back(in.back()); })) << of;
  }
}

}  // namespace
}  // namespace softcheck::kernel_tests
