// Attention by roots in the language model's heads: thresholds within their derived error, every lane, and why no
// certificate of softmax holds for it. Its gradient is held in language_model_test.cpp.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "experiments/language/language_lane.hpp"
#include "experiments/max_retrieval_sets.hpp"
// clang-format off
#include "experiments/language/root_attention.inl"
// clang-format on

namespace softcheck::experiments {
namespace {

// By halving in long double, which errs by n 2^-64: the sum's roundings over its slope, at least 2.
template <class Scalar>
std::vector<long double> exact_roots(const std::vector<Scalar>& scores) {
  const long double largest = std::ranges::max(scores);
  const auto root = [&](Scalar score, long double t) {
    return std::max(0.0L, (static_cast<long double>(score) - largest) / 2 - t);
  };
  long double low = -1, high = 0;
  for (int halving = 0; halving < 70; ++halving) {
    const long double middle = (low + high) / 2;
    long double sum = 0;
    for (const Scalar score : scores) sum += root(score, middle) * root(score, middle);
    (sum > 1 ? low : high) = middle;
  }
  std::vector<long double> roots;
  for (const Scalar score : scores) roots.push_back(root(score, low));
  return roots;
}

template <class Scalar>
std::vector<Scalar> computed_roots(const std::vector<Scalar>& scores) {
  const auto size = static_cast<Eigen::Index>(scores.size());
  RootMatrix<Scalar> row(size, 1), above(size + 3, 1);
  std::ranges::copy(scores, row.data());
  weight_roots(row.col(0).head(row.rows()), above);
  return {row.data(), row.data() + row.rows()};
}

// Rows with all weights alike, some, one, and many small ones beside a large one.
template <class Scalar>
std::vector<std::vector<Scalar>> some_rows(std::size_t n) {
  RandomWords words(n);
  std::vector<std::vector<Scalar>> rows{std::vector<Scalar>(n, Scalar(-3))};
  for (const double deviation : {0.1, 1.0, 10.0}) {
    rows.emplace_back();
    for (std::size_t i = 0; i < n; ++i) rows.back().push_back(static_cast<Scalar>(deviation * normal_draw(words)));
  }
  for (const double below : {1.0, 1.999, 2.0, 2.5}) {
    rows.emplace_back(n, static_cast<Scalar>(7 - below));
    rows.back()[n / 2] = 7;
  }
  return rows;
}

template <class Scalar>
class WeightRoots : public ::testing::Test {};
using RootScalars = ::testing::Types<float, double>;
TYPED_TEST_SUITE(WeightRoots, RootScalars);

// As weight_roots() derives it: t errs by so much, x/2 less its maximum by u, and a root's own rounding is another.
TYPED_TEST(WeightRoots, ErrByNoMoreThanDerived) {
  constexpr long double u = std::numeric_limits<TypeParam>::epsilon() / 2.0L;
  for (const std::size_t n : {1U, 2U, 3U, 17U, 300U, 5000U}) {
    const auto count = static_cast<long double>(n);
    const long double first_order = 1 + count * u;
    const long double too_small = (count + 8) * u * first_order;
    const long double too_large = ((count + 3) / 2 + std::sqrt(count) + 4) * u * first_order;
    for (const std::vector<TypeParam>& row : some_rows<TypeParam>(n)) {
      const std::vector<long double> exact = exact_roots(row);
      const std::vector<TypeParam> computed = computed_roots(row);
      for (std::size_t i = 0; i < n; ++i) {
        const long double error = static_cast<long double>(computed[i]) - exact[i];
        ASSERT_GE(error, -too_small) << n << " items, item " << i;
        ASSERT_LE(error, too_large) << n << " items, item " << i;
      }
    }
  }
}

// Lemma 2.1 bounds softmax's coefficients by the row's spread on both sides, and the upper bound falls as 1/n. Weights
// that are squares of roots keep neither: two above all others a score has weight 1 among any number, the others
// exactly 0; a spread of 1 leaves it a quarter.
TEST(RootAttention, ASpreadOfTwoIsSharpAmongAnyNumber) {
  for (const std::size_t n : {2U, 100U, 65536U}) {
    std::vector<double> row(n, 0.0);
    row[1] = 2;
    std::vector<double> roots = computed_roots(row);
    EXPECT_EQ(roots[1], 1);
    EXPECT_EQ(std::ranges::count(roots, 0.0), static_cast<std::ptrdiff_t>(n - 1));
    row[1] = 1;
    roots = computed_roots(row);
    EXPECT_GE(roots[1] * roots[1], 0.25);
    EXPECT_GT(roots[0], 0);
  }
}

struct RootRun {
  std::vector<double> attended, d_projected;
};

// Each lane in f32 against the same code in f64, which language_model_test.cpp holds against the definition. The texts
// end within a block of queries and behind it.
TEST(RootAttention, TheLanesAgreeWithDouble) {
  const LanguageShape shape{.layers = 1, .width = 32, .heads = 2, .inner = 16};
  const std::vector<std::int64_t> begins{0, 1, 65, 195, 200};
  const auto tokens = static_cast<std::size_t>(begins.back()), d = static_cast<std::size_t>(shape.width);
  RandomWords words(8);
  Floats projected(3 * d * tokens), d_attended(d * tokens);
  for (float& value : projected) value = static_cast<float>(normal_draw(words));
  for (float& value : d_attended) value = static_cast<float>(normal_draw(words));
  const std::vector<double> exact(projected.begin(), projected.end()), upstream(d_attended.begin(), d_attended.end());
  RootRun truth{std::vector<double>(d * tokens), std::vector<double>(3 * d * tokens)};
  const PackedTexts texts{shape, begins.data(), 4};
  root_attend<double>(texts, exact.data(), truth.attended.data());
  root_attend_back<double>(texts, exact.data(), upstream.data(), truth.d_projected.data());
  std::vector<const softcheck_language_lane*> lanes{&softcheck_language_baseline};
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) lanes.push_back(&softcheck_language_avx2);
  if (&language_lane() == &softcheck_language_avx512) lanes.push_back(&softcheck_language_avx512);
#endif
  const auto distance = [](const Floats& computed, const std::vector<double>& wanted) {
    double difference = 0, norm = 0;
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      difference += std::pow(static_cast<double>(computed[i]) - wanted[i], 2);
      norm += wanted[i] * wanted[i];
    }
    return std::sqrt(difference / norm);
  };
  // A score errs by 18 u of its terms' size, at most some 16; a root by that, and by n + 8 for its threshold; what is
  // made of weights, twice that and a sum's n, and there and back three of these follow each other. A wrong lane is
  // wrong by as much as the result itself.
  const double bound = 3 * (2 * (18 * 16 + 138) + 130) * 0x1p-24;
  for (const softcheck_language_lane* lane : lanes) {
    Floats attended(d * tokens), d_projected(3 * d * tokens);
    lane->attend(shape, begins.data(), 4, projected.data(), attended.data());
    EXPECT_LE(distance(attended, truth.attended), bound) << lane->name;
    lane->attend_back(shape, begins.data(), 4, projected.data(), d_attended.data(), d_projected.data());
    EXPECT_LE(distance(d_projected, truth.d_projected), bound) << lane->name;
  }
}

}  // namespace
}  // namespace softcheck::experiments
