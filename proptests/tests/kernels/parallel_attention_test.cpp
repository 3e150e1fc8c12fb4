// Attention whose keys are shared by ranks: its bits are the same for any number of ranks and any route, and for many
// keys those of the CPU's kernel. Values are judged with the zoo (judge/zoo_test.cpp).
#include <gtest/gtest.h>

#include <cmath>
#include <optional>
#include <string>
#include <vector>

#include "proptests/tests/kernels/loaded_kernel.hpp"

namespace softcheck::kernel_tests {
namespace {

/// Every way in which ranks share keys, but that of one rank.
const std::vector<std::string>& rank_prefixes() {
  static const std::vector<std::string> prefixes = {"2_", "3_", "4_", "8_", "4_ring_", "8_ring_", "8_reduction_"};
  return prefixes;
}

softcheck_kernel rank_kernel(const std::string& prefix, const std::string& op) {
  return load_kernel("softcheck_parallel_kernels", "softcheck_ranks_" + prefix + op);
}

struct RankProblem {
  std::int64_t batch, heads, key_heads, queries, keys, dim, value_dim;
  bool causal = false;
  bool masked = false;

  std::string name() const {
    return std::to_string(queries) + " queries, " + std::to_string(keys) + " keys" + (causal ? ", causal" : "") +
           (masked ? ", masked" : "");
  }
};

/// Sizes about leaves of 16, 32, 64 and 128 keys and about powers of two of them; no keys, no query, blind queries.
std::vector<RankProblem> rank_problems() {
  std::vector<RankProblem> problems;
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

/// A call's tensors, and what a kernel makes of them.
struct RankCall {
  explicit RankCall(const RankProblem& p)
      : problem(p),
        q(type, {p.batch, p.heads, p.queries, p.dim}),
        k(type, {p.batch, p.key_heads, p.keys, p.dim}),
        v(type, {p.batch, p.key_heads, p.keys, p.value_dim}),
        incoming(type, {p.batch, p.heads, p.queries, p.value_dim}) {
    std::uint32_t seed = 0;
    for (Tensor<float>* tensor : {&q, &k, &v, &incoming}) {
      tensor->elements = uneven_row<float>(tensor->elements.size(), ++seed);
      for (float& x : tensor->elements) x = x / 16 + 1;  // [-1, 1)
      tensor->view.data = tensor->elements.data();
    }
    if (!p.masked) return;
    mask.emplace(mask_type, std::vector<std::int64_t>{p.batch, p.heads, p.queries, p.keys});
    for (std::size_t i = 0; i < mask->elements.size(); ++i) mask->elements[i] = i % 7 == 3 || i % 100 < 20 ? 0 : 1;
  }

  /// All bits of the results; nothing where the kernel is missing or refuses the call.
  std::optional<std::vector<float>> attention(softcheck_kernel kernel) {
    const RankProblem& p = problem;
    Tensor<float> out(type, incoming.shape, {}, 0, -7), lse(type, {p.batch, p.heads, p.queries}, {}, 0, -7),
        entropy(type, lse.shape, {}, 0, -7), maximum(type, lse.shape, {}, 0, -7);
    std::vector<const DLTensor*> inputs{&q.view, &k.view, &v.view};
    return results(kernel, inputs, {&out, &lse, &entropy, &maximum});
  }
  std::optional<std::vector<float>> gradient(softcheck_kernel kernel) {
    Tensor<float> dq(type, q.shape, {}, 0, -7), dk(type, k.shape, {}, 0, -7), dv(type, v.shape, {}, 0, -7);
    std::vector<const DLTensor*> inputs{&q.view, &k.view, &v.view, &incoming.view};
    return results(kernel, inputs, {&dq, &dk, &dv});
  }

  RankProblem problem;
  Tensor<float> q, k, v, incoming;
  std::optional<Tensor<std::uint8_t>> mask;

 private:
  static constexpr DLDataType type = dtype_of<float>();

  std::optional<std::vector<float>> results(softcheck_kernel kernel, std::vector<const DLTensor*>& inputs,
                                            const std::vector<Tensor<float>*>& outputs) const {
    if (mask) inputs.push_back(&mask->view);
    std::vector<DLTensor*> views;
    for (Tensor<float>* output : outputs) views.push_back(&output->view);
    if (!takes_call(kernel, inputs, views, 2, problem.causal)) return std::nullopt;
    std::vector<float> all;
    for (const Tensor<float>* output : outputs) {
      all.insert(all.end(), output->elements.begin(), output->elements.end());
    }
    return all;
  }
};

TEST(ParallelAttention, BitsAreThoseOfOneRank) {
  for (const RankProblem& problem : rank_problems()) {
    RankCall call(problem);
    for (const std::string op : {"attention", "adaptive_attention"}) {
      const auto one = call.attention(rank_kernel("1_", op));
      ASSERT_TRUE(one) << op << " " << problem.name();
      for (const std::string& prefix : rank_prefixes()) {
        const auto several = call.attention(rank_kernel(prefix, op));
        ASSERT_TRUE(several) << prefix << op << " " << problem.name();
        EXPECT_TRUE(same_bits(*several, *one)) << prefix << op << " " << problem.name();
      }
    }
  }
}

TEST(ParallelAttention, BitsOfManyKeysAreThoseOfTheCpuKernel) {
  int compared = 0;
  for (const RankProblem& problem : rank_problems()) {
    if (problem.keys <= 1024) continue;
    ++compared;
    RankCall call(problem);
    for (const std::string op : {"attention", "adaptive_attention"}) {
      const auto alone = call.attention(cpu_kernel("softcheck_" + op));
      const auto shared = call.attention(rank_kernel("8_", op));
      ASSERT_TRUE(alone && shared) << op << " " << problem.name();
      EXPECT_TRUE(same_bits(*shared, *alone)) << op << " " << problem.name();
    }
  }
  EXPECT_GE(compared, 10);
}

// Labelled full: ParallelAttention.BitsOfGradientsAreThoseOfOneRank
TEST(ParallelAttention, BitsOfGradientsAreThoseOfOneRank) {
  for (const RankProblem& problem : rank_problems()) {
    RankCall call(problem);
    for (const std::string op : {"attention_backward", "adaptive_attention_backward"}) {
      const auto one = call.gradient(rank_kernel("1_", op));
      ASSERT_TRUE(one) << op << " " << problem.name();
      for (const std::string& prefix : rank_prefixes()) {
        const auto several = call.gradient(rank_kernel(prefix, op));
        ASSERT_TRUE(several) << prefix << op << " " << problem.name();
        EXPECT_TRUE(same_bits(*several, *one)) << prefix << op << " " << problem.name();
      }
    }
  }
}

// The reduction combines in the order in which ranks arrive, which chance decides.
TEST(ParallelAttention, BitsDependOnNoOrderOfArrival) {
  RankCall call({1, 2, 1, 20, 900, 8, 8, true});
  const auto first = call.attention(rank_kernel("8_reduction_", "adaptive_attention"));
  const auto gradient = call.gradient(rank_kernel("8_reduction_", "attention_backward"));
  ASSERT_TRUE(first && gradient);
  for (int run = 0; run < 30; ++run) {
    const auto again = call.attention(rank_kernel("8_reduction_", "adaptive_attention"));
    const auto gradient_again = call.gradient(rank_kernel("8_reduction_", "attention_backward"));
    ASSERT_TRUE(again && gradient_again);
    EXPECT_TRUE(same_bits(*again, *first)) << "run " << run;
    EXPECT_TRUE(same_bits(*gradient_again, *gradient)) << "run " << run;
  }
}

// NaN in a key or a value that one rank has reaches the queries that see it, and no others.
TEST(ParallelAttention, ANanOfOneRankReachesWhatSeesIt) {
  for (const std::string& prefix : rank_prefixes()) {
    RankCall call({1, 1, 1, 300, 300, 4, 4, true});
    const auto clean = call.attention(rank_kernel(prefix, "attention"));
    call.k.elements[200 * 4] = std::numeric_limits<float>::quiet_NaN();
    const auto hit = call.attention(rank_kernel(prefix, "attention"));
    const auto gradient = call.gradient(rank_kernel(prefix, "attention_backward"));
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
  RankCall call({1, 1, 1, 2, 40, 4, 4});
  Tensor<float> out(dtype_of<float>(), {1, 1, 2, 4}), short_out(dtype_of<float>(), {1, 1, 2, 3});
  const softcheck_kernel kernel = rank_kernel("4_", "attention");
  EXPECT_TRUE(takes_call(kernel, {&call.q.view, &call.k.view, &call.v.view}, {&out.view}));
  EXPECT_FALSE(takes_call(kernel, {&call.q.view, &call.k.view, &call.v.view}, {&short_out.view}));
  EXPECT_FALSE(takes_call(kernel, {&call.q.view, &call.k.view}, {&out.view}));
}

}  // namespace
}  // namespace softcheck::kernel_tests
