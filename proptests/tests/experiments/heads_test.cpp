// What turns logits into coefficients, against other definitions: by sorting, in long double.
#include "experiments/heads.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <random>
#include <vector>

namespace softcheck::experiments {
namespace {

using Reals = std::vector<long double>;

std::vector<std::size_t> falling_order(const Reals& x) {
  std::vector<std::size_t> order(x.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return x[a] > x[b]; });
  return order;
}

Reals softmax_beside(const Reals& x, const std::vector<bool>& kept, long double rest) {
  Reals alpha(x.size());
  long double sum = rest;
  for (std::size_t i = 0; i < x.size(); ++i) sum += kept[i] ? std::exp(x[i]) : 0;
  for (std::size_t i = 0; i < x.size(); ++i) alpha[i] = kept[i] ? std::exp(x[i]) / sum : 0;
  return alpha;
}

// Support sizes by the definition: the largest k for which the k-th largest logit is above the threshold of k.
Reals sparsemax(const Reals& x) {
  const std::vector<std::size_t> order = falling_order(x);
  long double sum = 0, threshold = 0;
  for (std::size_t k = 1; k <= x.size(); ++k) {
    sum += x[order[k - 1]];
    if (1 + static_cast<long double>(k) * x[order[k - 1]] > sum) threshold = (sum - 1) / static_cast<long double>(k);
  }
  Reals alpha;
  for (const long double value : x) alpha.push_back(std::max(value - threshold, 0.0L));
  return alpha;
}

Reals entmax(const Reals& x) {
  const std::vector<std::size_t> order = falling_order(x);
  long double sum = 0, squares = 0, threshold = 0;
  for (std::size_t k = 1; k <= x.size(); ++k) {
    const long double half = x[order[k - 1]] / 2, count = static_cast<long double>(k);
    sum += half;
    squares += half * half;
    const long double mean = sum / count, scatter = count * (squares / count - mean * mean);
    if (scatter > 1) break;
    const long double candidate = mean - std::sqrt((1 - scatter) / count);
    if (candidate <= half) threshold = candidate;
  }
  Reals alpha;
  for (const long double value : x) alpha.push_back(std::pow(std::max(value / 2 - threshold, 0.0L), 2));
  return alpha;
}

Reals expected(HeadKind kind, Reals x) {
  const std::vector<bool> all(x.size(), true);
  switch (kind) {
    case HeadKind::softmax:
      return softmax_beside(x, all, 0);
    case HeadKind::log_n:
      for (long double& value : x) value *= std::log2(static_cast<long double>(x.size())) / 4;
      return softmax_beside(x, all, 0);
    case HeadKind::top_k: {
      std::vector<bool> kept(x.size());
      const std::vector<std::size_t> order = falling_order(x);
      for (std::size_t i = 0; i < std::min<std::size_t>(8, x.size()); ++i) kept[order[i]] = true;
      return softmax_beside(x, kept, 0);
    }
    case HeadKind::sink:
      return softmax_beside(x, all, 1);
    case HeadKind::sigmoid:
      for (long double& value : x) value = std::exp(value) / (16 + std::exp(value));
      return x;
    case HeadKind::sparsemax:
      return sparsemax(x);
    case HeadKind::entmax:
      return entmax(x);
    case HeadKind::softpick: {
      long double sum = 0;
      for (const long double value : x) sum += std::fabs(std::expm1(value));
      for (long double& value : x) value = std::max(std::expm1(value), 0.0L) / sum;
      return x;
    }
  }
  return {};
}

Reals coefficients(HeadKind kind, const std::vector<float>& logits, float offset) {
  std::vector<float> result(logits.size());
  head_of(kind).coefficients(logits, offset, result);
  return {result.begin(), result.end()};
}

// Coefficients are at most 1 and computed in double: the rounding to float, 2^-25, and n roundings of 2^-53 in each of
// a few sums, which 2^-24 covers for n <= 1000 by far. Softpick subtracts 1 from exponentials of up to e^20 times the
// smallest that counts: absolute errors stay of the same size.
constexpr long double room = 0x1p-24L;

TEST(Heads, AreWhatTheirDefinitionsSay) {
  std::mt19937_64 words(1);
  for (const HeadKind kind : head_kinds()) {
    for (const int n : {1, 2, 3, 7, 8, 9, 40, 1000}) {
      for (const float spread : {0.0F, 0.5F, 3.0F, 20.0F}) {
        std::uniform_real_distribution<float> uniform(-spread, spread);
        std::vector<float> logits(static_cast<std::size_t>(n));
        for (float& logit : logits) logit = uniform(words);
        const float offset = 0.25F;
        Reals x(logits.begin(), logits.end());
        if (sees_offset(kind)) {
          for (long double& value : x) value += offset;
        }
        const Reals want = expected(kind, x), got = coefficients(kind, logits, offset);
        for (std::size_t i = 0; i < want.size(); ++i) {
          ASSERT_LE(std::fabs(got[i] - want[i]), room) << to_string(kind) << " n = " << n << " spread " << spread;
        }
      }
    }
  }
}

TEST(Heads, LargeLogitsDoNotOverflow) {
  for (const HeadKind kind : head_kinds()) {
    for (const float level : {-300.0F, 300.0F}) {
      const Reals got = coefficients(kind, {level, level + 1, level - 1}, 0);
      for (const long double alpha : got) EXPECT_TRUE(alpha >= 0 && alpha <= 1) << to_string(kind) << " at " << level;
    }
  }
}

// What the paper's followers promise: no dispersion. An item ahead of all others by 4 keeps its coefficient among 2^16
// others, where softmax has lost it.
TEST(Heads, TheSparseOnesKeepAnItemAmongAnyNumberOfOthers) {
  std::vector<float> logits(65536, 0);
  logits[7] = 4;
  const long double weight = std::exp(4.0L);
  EXPECT_NEAR(coefficients(HeadKind::softmax, logits, 0)[7], weight / (weight + 65535), room);  // less than 1/1000
  for (const HeadKind kind : {HeadKind::sparsemax, HeadKind::entmax}) {
    EXPECT_EQ(coefficients(kind, logits, 0)[7], 1) << to_string(kind);
  }
  EXPECT_NEAR(coefficients(HeadKind::top_k, logits, 0)[7], weight / (weight + 7), room);
}

TEST(Heads, WordsComeBack) {
  for (const HeadKind kind : head_kinds()) EXPECT_EQ(parse_head(to_string(kind)), kind);
  EXPECT_THROW(parse_head("softmin"), std::invalid_argument);
}

}  // namespace
}  // namespace softcheck::experiments
