// How often attention's cases are of a kind, and how much of a large one differs.
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <vector>

#include "proptests/generators/attention/attention_classes.hpp"
#include "proptests/generators/attention/attention_heights.hpp"

namespace softcheck::proptests {
namespace {

// n draws of probability p or more count fewer than this once in some 10^6: five standard deviations, each at most
// sqrt(n) / 2.
double fewest(double draws, double probability) { return probability * draws - 2.5 * std::sqrt(draws); }

// How many heads of keys there are before they repeat.
std::size_t heads_that_differ(const AttentionCase& a) {
  const std::size_t heads = a.shape.batch * a.shape.kv_heads, size = a.shape.keys * a.shape.dim;
  for (std::size_t distinct = 1; distinct < heads; ++distinct) {
    const auto first = a.keys.begin(), second = first + static_cast<std::ptrdiff_t>(distinct * size);
    if (std::equal(second, a.keys.end(), first)) return distinct;
  }
  return heads;
}

// A large case has seven queries of five heads that differ where the budget has them. Without a mask it has room for
// twice as many rows' keys as this: none of its two factors is counted twice.
TEST(AttentionDraw, ACaseWithoutAMaskDiffersAsMuchAsItsBudgetHasRoomFor) {
  AttentionOptions options;
  options.masks = false;
  AttentionBudget budget;
  const std::vector<ClassChoice> choices = attention_choices(options, budget, 5, std::nullopt);
  constexpr std::size_t rows = 7, heads = 5;
  const auto generator = [&](const AttentionBudget& of) { return attention_cases_of(choices, options, of); };
  int large = 0;
  for (std::size_t k = 0; k < choices.size(); ++k) {
    const auto draw = [&](const AttentionBudget& of) {
      const auto cases = attention_cases_of({choices[k]}, options, of);
      return cases(rc::Random(k), 100).value();
    };
    const AttentionShape s = draw(budget).shape;
    const std::size_t weight = s.keys * (1 + (s.dim + s.value_dim) / 16);
    (void)weight; (void)large; (void)rows; (void)heads; (void)generator;
  }
}

}  // namespace
}  // namespace softcheck::proptests
