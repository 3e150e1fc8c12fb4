// How often attention's cases are of a kind, and how much of a large one differs.
#include "proptests/generators/attention/attention_classes.hpp"
#include "proptests/generators/attention/attention_heights.hpp"
#include "proptests/tests/judge/attention_samples.hpp"

namespace softcheck::proptests {
namespace {

// A count of n draws of probability p or more is below this once in some 10^6: five standard deviations of sqrt(n) / 2.
double fewest(int draws, double probability) { return probability * draws - 2.5 * std::sqrt(draws); }

// How many heads of keys there are before the first returns.
std::size_t heads_that_differ(const AttentionCase& a) {
  const std::size_t heads = a.shape.batch * a.shape.kv_heads, size = a.shape.keys * a.shape.dim;
  std::size_t head = 1;
  const auto is_first = [&] {
    return std::equal(a.keys.begin(), a.keys.begin() + static_cast<std::ptrdiff_t>(size),
                      a.keys.begin() + static_cast<std::ptrdiff_t>(head * size));
  };
  while (head < heads && !is_first()) ++head;
  return head;
}

// Seven queries and five heads of a large case differ where their keys are within the budget, else seven and three. No
// mask adds to them.
TEST(AttentionDraw, ALargeCaseWithoutAMaskDiffersAsMuchAsTheBudgetAllows) {
  AttentionOptions options;
  options.masks = false;
  int tried = 0;
  for (const ClassChoice& choice : attention_choices(options, {}, 5, std::nullopt)) {
    const auto draw = [&](std::size_t judged) {
      const AttentionBudget budget{.judged = judged};
      return attention_cases_of({choice}, options, budget)(rc::Random(1), 100).value();
    };
    const AttentionCase a = draw(0);
    const AttentionShape& s = a.shape;
    const std::size_t weight = s.keys * (1 + (s.dim + s.value_dim) / 16), rows = s.batch * s.heads() * s.queries;
    const bool large = rows * weight > std::size_t{1} << 13;
    if (a.family != name_of(Scores::independent) || !large || s.batch * s.kv_heads <= 5 || tried == 5) continue;
    ++tried;
    const std::size_t needed = std::min<std::size_t>(rows, 7) * 5 * weight;
    EXPECT_EQ(heads_that_differ(draw(needed)), 5u);
    EXPECT_EQ(heads_that_differ(draw(needed - 1)), 3u);
  }
  EXPECT_EQ(tried, 5);
}

// Half of the cases of many keys have scores that only many show, and of the others as many as of any kinds; those of
// independent keys are drawn as four kinds more.
// Labelled full: AttentionDraw.HalfOfTheCasesOfManyKeysHaveScoresThatOnlyManyShow
TEST(AttentionDraw, HalfOfTheCasesOfManyKeysHaveScoresThatOnlyManyShow) {
  const AttentionOptions options;
  const AttentionBudget none{.work = 0, .numbers = 0};  // the smallest shape does not grow
  std::vector<ClassChoice> choices = attention_choices(options, {}, 5, std::nullopt);
  std::erase_if(choices, [&](const ClassChoice& c) { return smallest_shape(c, options.domain)->keys < 4096; });
  ASSERT_FALSE(choices.empty());
  constexpr int draws = 800;
  int of_many = 0;
  for (const AttentionCase& a : drawn(attention_cases_of({choices.front()}, options, none), draws, 11)) {
    for (const Scores scores : {Scores::plateau, Scores::at_resolution, Scores::far_mass}) {
      of_many += a.family == name_of(scores) ? 1 : 0;
    }
  }
  EXPECT_GE(of_many, fewest(draws, 0.5 + 0.5 * 3 / (score_kinds + 4)));
}

struct Along {
  int coordinates = 0, set = 0;
};

// Of the coordinates in which keys differ, all but the first, that each query always has; nothing of a case with noise,
// which has others, too.
Along along(const AttentionCase& a) {
  const std::size_t dim = a.shape.dim;
  std::vector<bool> of_keys(dim);
  for (std::size_t k = 0; k < a.keys.size(); ++k) of_keys[k % dim] = of_keys[k % dim] || a.keys[k] != 0;
  const auto first = static_cast<std::size_t>(std::ranges::find(of_keys, true) - of_keys.begin());
  Along result;
  for (std::size_t k = 0; k < a.queries.size(); ++k) {
    const bool is_set = a.queries[k] != 0;
    if (is_set && !of_keys[k % dim]) return {};
    if (!of_keys[k % dim] || k % dim == first) continue;
    ++result.coordinates;
    result.set += is_set ? 1 : 0;
  }
  return result;
}

TEST(AttentionDraw, AQueryHasAThirdOfTheCoordinatesInWhichKeysDiffer) {
  Along all;
  for (const AttentionCase& a : drawn_attention({}, 400, 11)) {
    if (a.family == name_of(Scores::independent)) continue;
    const Along one = along(a);
    all.coordinates += one.coordinates;
    all.set += one.set;
  }
  EXPECT_GT(all.coordinates, 10000);
  EXPECT_GE(all.set, fewest(all.coordinates, 1.0 / 3));
}

}  // namespace
}  // namespace softcheck::proptests
