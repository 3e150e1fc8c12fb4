// Attention's attributes on the CPU kernel: what must have the same bits, what is not read, and scores that are known.
// The judge judges the rest.
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include "proptests/tests/kernels/attention_tensors.hpp"

namespace softcheck::kernel_tests {
namespace {

/// Attention of f32 with attributes, out and lse of it, for the CPU kernels.
struct AttributedAttention : AttentionTensors<float> {
  AttributedAttention(std::int64_t heads, std::int64_t key_heads, std::int64_t queries, std::int64_t keys,
                      std::int64_t dim)
      : AttentionTensors({1, heads, key_heads, queries, keys, dim, dim}) {}

  std::int64_t place_of(std::int64_t query) const {
    return attributes.causal_top_left != 0 ? query : query + shape.keys - shape.queries;
  }
  void set_window(std::int64_t left, std::int64_t right) {
    attributes.window_left_plus_1 = left + 1;
    attributes.window_right_plus_1 = right + 1;
  }
  /// Whether the attributes' windows and causality let a query see a key.
  bool sees(std::int64_t query, std::int64_t key) const {
    const std::int64_t left = attributes.window_left_plus_1, right = attributes.window_right_plus_1,
                       auxiliary = key - place_of(query);
    return !(shape.causal && auxiliary > 0) && (left == 0 || -auxiliary < left) && (right == 0 || auxiliary < right);
  }

  /// Whether the kernel takes the call.
  bool run() {
    Call2 call(SOFTCHECK_OP_ATTENTION, {&q.view, &k.view, &v.view}, attention_roles(), out.view);
    if (shape.masked) call.add_input(mask.view, SOFTCHECK_ROLE_MASK);
    call.outputs.push_back(&lse.view);
    call.attributes = attributes;
    call.attributes.size = sizeof attributes;
    call.whole.call.scale = scale;
    call.whole.call.causal = shape.causal ? 1 : 0;
    for (Tensor<float>* result : {&out, static_cast<Tensor<float>*>(&lse)}) std::ranges::fill(result->elements, -7.0F);
    return call.run();
  }

  softcheck_attributes attributes{};
};

/// Whether two calls gave the same.
testing::AssertionResult same_results(const AttributedAttention& one, const AttributedAttention& other) {
  const testing::AssertionResult same = same_bits(one.out.elements, other.out.elements);
  return same ? same_bits(one.lse.elements, other.lse.elements) : same;
}

constexpr float attribute_infinity = std::numeric_limits<float>::infinity();

struct Window {
  std::int64_t left, right;  // -1: all
};

// Windows of less than a block, of some, and of none of the keys; queries beside all keys.
const std::vector<Window>& windows() {
  static const std::vector<Window> list{{0, 0}, {3, 0}, {-1, 5}, {100, -1}, {200, 40}, {700, 700}, {129, 1}};
  return list;
}

TEST(CpuAttributes, AWindowHasTheBitsOfItsMask) {
  for (const auto& [queries, keys] : {std::pair(5, 700), std::pair(300, 300), std::pair(400, 150), std::pair(1, 500)}) {
    for (const Window& window : windows()) {
      for (const int kind : {0, 1, 2, 3}) {
        AttributedAttention call(2, 1, queries, keys, 5);
        call.set_window(window.left, window.right);
        call.shape.causal = kind % 2 != 0;
        call.attributes.causal_top_left = kind / 2;
        ASSERT_TRUE(call.run());
        AttributedAttention masked(2, 1, queries, keys, 5);
        masked.shape.masked = true;
        for (std::int64_t i = 0; i < 2 * queries; ++i) {
          for (std::int64_t j = 0; j < keys; ++j)
            masked.mask[static_cast<std::size_t>(i * keys + j)] = call.sees(i % queries, j) ? 1 : 0;
        }
        ASSERT_TRUE(masked.run());
        EXPECT_TRUE(same_results(call, masked)) << queries << " " << keys << " " << window.left << " " << kind;
      }
    }
  }
}

// Keys 0 to 511 lie in memory that cannot be read, four blocks; what the queries do not see of the next one is NaN.
TEST(CpuAttributes, KeysBesideTheWindowAreNotThere) {
  constexpr std::int64_t keys = 701, dim = 64, hidden = 512;
  for (const std::int64_t queries : {1, 60}) {
    AttributedAttention call(1, 1, queries, keys, dim);
    call.set_window(40, 0);
    ASSERT_TRUE(call.run());
    const std::vector<float> expected = call.out.elements;
    for (std::int64_t key = 0; key < keys - queries - 40; ++key) {
      for (Tensor<float>* tensor : {&call.k, &call.v}) {
        std::fill_n(tensor->elements.begin() + key * dim, dim, std::numeric_limits<float>::quiet_NaN());
      }
    }
    const std::size_t bytes = keys * dim * sizeof(float), closed = hidden * dim * sizeof(float);
    std::vector<void*> pages;
    for (Tensor<float>* tensor : {&call.k, &call.v}) {
      void* page = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
      ASSERT_NE(page, MAP_FAILED);
      std::memcpy(page, tensor->elements.data(), bytes);
      ASSERT_EQ(mprotect(page, closed, PROT_NONE), 0);
      tensor->view.data = page;
      pages.push_back(page);
    }
    ASSERT_TRUE(call.run());
    EXPECT_TRUE(same_bits(call.out.elements, expected)) << queries;
    for (void* page : pages) munmap(page, bytes);
  }
}

/// The scores of queries of one key behind a softcap: their log-sum-exps, which add ln 1 = 0.
std::vector<float> capped(const std::vector<float>& scores, double softcap) {
  AttributedAttention call(1, 1, static_cast<std::int64_t>(scores.size()), 1, 1);
  call.q.set(scores);
  call.k[0] = 1;
  call.scale = 1;
  call.attributes.softcap = softcap;
  EXPECT_TRUE(call.run());
  return call.lse.elements;
}

TEST(CpuAttributes, InfiniteScoresAreWhatTheyAreWithoutASoftcap) {
  const std::vector<float> got =
      capped({attribute_infinity, -attribute_infinity, std::numeric_limits<float>::quiet_NaN()}, 30);
  EXPECT_TRUE(std::isnan(got[0]));
  EXPECT_EQ(got[1], -attribute_infinity);
  EXPECT_TRUE(std::isnan(got[2]));
}

TEST(CpuAttributes, WhatIsNotSupportedIsRefused) {
  AttributedAttention call(2, 1, 3, 4, 5);
  EXPECT_TRUE(call.run());
  const auto takes = [&](auto change) {
    AttributedAttention spoilt(2, 1, 3, 4, 5);
    change(spoilt);
    return spoilt.run();
  };
  EXPECT_TRUE(takes([](auto& c) { c.attributes.window_left_plus_1 = std::numeric_limits<std::int64_t>::max(); }));
  EXPECT_FALSE(takes([](auto& c) { c.attributes.window_left_plus_1 = -1; }));
  EXPECT_FALSE(takes([](auto& c) { c.attributes.window_right_plus_1 = -1; }));
  for (const double softcap : {-1.0, std::numeric_limits<double>::quiet_NaN(), 1e39, 1e-60}) {
    EXPECT_FALSE(takes([&](auto& c) { c.attributes.softcap = softcap; })) << softcap;
  }
  EXPECT_FALSE(takes([](auto& c) { c.attributes.page_size = 16; }));
  EXPECT_FALSE(takes([](auto& c) { c.v.view.dtype.bits = 64; }));
}

// Inputs of a call of version 2 by role, each f32; sinks twice, of another shape, an unknown role, and adaptive
// attention, which has no attributes.
TEST(CpuAttributes, OnlyItsOwnInputsAreTaken) {
  F32 q({1, 2, 3, 4}), k({1, 2, 5, 4}), v(k), out(q), lse({1, 2, 3}), entropy(lse), heads({2}), fewer({1}),
      bias({1, 1, 3, 5}), short_bias({1, 1, 3, 4});
  Tensor<double> wide(dtype_of<double>(), {2});
  struct Further {
    std::uint32_t role;
    const DLTensor* tensor;
  };
  const auto takes = [&](const std::vector<Further>& more, bool with_entropy = false, bool adaptive = false) {
    Call2 call(adaptive ? SOFTCHECK_OP_ADAPTIVE_ATTENTION : SOFTCHECK_OP_ATTENTION, {&q.view, &k.view, &v.view},
               attention_roles(), out.view);
    for (const Further& further : more) call.add_input(*further.tensor, further.role);
    call.outputs.push_back(&lse.view);
    if (with_entropy) call.outputs.push_back(&entropy.view);
    return call.run(adaptive ? "softcheck_adaptive_attention" : "softcheck_attention");
  };
  EXPECT_TRUE(takes({}, true));
  EXPECT_FALSE(takes({}, true, true));
  EXPECT_TRUE(takes({{SOFTCHECK_ROLE_BIAS, &bias.view}, {SOFTCHECK_ROLE_SINKS, &heads.view}}));
  EXPECT_FALSE(takes({{SOFTCHECK_ROLE_SINKS, &heads.view}}, true));
  EXPECT_FALSE(takes({{SOFTCHECK_ROLE_SINKS, &heads.view}, {SOFTCHECK_ROLE_SINKS, &heads.view}}));
  EXPECT_FALSE(takes({{SOFTCHECK_ROLE_SINKS, &fewer.view}}));
  EXPECT_FALSE(takes({{SOFTCHECK_ROLE_SLOPES, &wide.view}}));
  EXPECT_FALSE(takes({{SOFTCHECK_ROLE_BIAS, &short_bias.view}}));
  EXPECT_FALSE(takes({{SOFTCHECK_ROLE_LABELS, &heads.view}}));
}

}  // namespace
}  // namespace softcheck::kernel_tests
