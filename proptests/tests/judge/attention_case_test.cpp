#include "proptests/generators/attention/attention_classes.hpp"
#include "proptests/generators/attention/attention_heights.hpp"
#include "proptests/tests/judge/attention_samples.hpp"

namespace softcheck::proptests {
namespace {

using namespace numerics;

std::vector<AttentionCase> draw(const AttentionOptions& options, int count) {
  return drawn_attention(options, count, 11, 101);
}

AttentionOptions with_everything(Format format = Format::f32) {
  AttentionOptions options;
  options.format = format;
  options.layouts = true;
  return options;
}

// Labelled full: AttentionCase.EveryCaseKeepsToItsOptionsAndReadsBack
TEST(AttentionCase, EveryCaseKeepsToItsOptionsAndReadsBack) {
  for (const Format format : wide_formats) {
    const AttentionOptions options = with_everything(format);
    for (const AttentionCase& a : draw(options, 150)) {
      ASSERT_TRUE(admits(options, a)) << to_text(a);
      EXPECT_LE(a.shape.scores() * (a.shape.dim + a.shape.value_dim), 2 * options.max_work);
      const AttentionCase again = read_back(a);
      EXPECT_EQ(to_text(again), to_text(a));
      EXPECT_TRUE(admits(options, again));
    }
  }
}

// == compares what the text spells, without writing it: each change of a case shows in both or in neither.
TEST(AttentionCase, CasesOfOneTextAreEqual) {
  using Numbers = std::vector<double>;
  const auto negate_last = [](Numbers& numbers) {
    if (!numbers.empty()) numbers.back() = -numbers.back();
  };
  const std::vector<std::function<void(AttentionCase&)>> changes{
      [](AttentionCase& a) { a.family = "another"; },
      [](AttentionCase& a) { a.format = a.format == Format::f32 ? Format::f64 : Format::f32; },
      [](AttentionCase& a) { std::swap(a.shape.batch, a.shape.kv_heads); },
      [](AttentionCase& a) { a.scale = -a.scale; },
      [](AttentionCase& a) { a.causal = !a.causal; },
      [](AttentionCase& a) { ++a.outputs; },
      [](AttentionCase& a) { ++a.layout; },
      [](AttentionCase& a) { ++a.nan; },
      [](AttentionCase& a) { a.mask_for_each_head = !a.mask_for_each_head; },
      [](AttentionCase& a) { ++a.mask_byte; },
      [](AttentionCase& a) {
        if (!a.mask.empty()) a.mask.back() = 1 - a.mask.back();
      },
      [](AttentionCase& a) { a.mask.clear(); },
      [&](AttentionCase& a) { negate_last(a.queries); },
      [&](AttentionCase& a) { negate_last(a.keys); },
      [&](AttentionCase& a) { negate_last(a.values); },
      [&](AttentionCase& a) { negate_last(a.gradients); },
      [&](AttentionCase& a) { negate_last(a.attributes.sinks); },
      [&](AttentionCase& a) { negate_last(a.attributes.slopes); },
      [&](AttentionCase& a) { negate_last(a.attributes.bias); },
      [&](AttentionCase& a) { negate_last(a.attributes.kept); },
      [&](AttentionCase& a) { negate_last(a.attributes.lse_gradients); },
      [](AttentionCase& a) { a.attributes.softcap += 1; },
      [](AttentionCase& a) { a.attributes.dropout_scale += 1; },
      [](AttentionCase& a) { a.attributes.bias_for_each_head = !a.attributes.bias_for_each_head; },
      [](AttentionCase& a) { a.attributes.window_left = a.attributes.window_left.value_or(0) + 1; },
      [](AttentionCase& a) { a.sequences.packed = !a.sequences.packed; },
  };
  std::vector<int> seen(changes.size());
  for (const bool gradients : {false, true}) {
    AttentionOptions options = with_everything();
    options.attributes = true;
    options.gradients = gradients;
    options.max_work = 1 << 12;
    options.domain = domain_of(std::string("window softcap sinks alibi bias ") + (gradients ? "dlse" : "dropout"),
                               gradients ? Op::attention_backward : Op::attention);
    for (const AttentionCase& a : draw(options, 60)) {
      const std::string text = to_text(a);
      for (std::size_t k = 0; k < changes.size(); ++k) {
        AttentionCase changed = a;
        changes[k](changed);
        ASSERT_EQ(changed == a, to_text(changed) == text) << "change " << k << " of " << text;
        seen[k] += changed == a ? 0 : 1;
      }
    }
  }
  for (std::size_t k = 1; k < changes.size(); ++k) EXPECT_GE(seen[k], 5) << "change " << k;
}

TEST(AttentionCase, TheCasesThatMatterAreDrawn) {
  std::set<std::string> families;
  int causal = 0, unequal = 0, shared = 0, grouped = 0, other_values = 0, long_rows = 0;
  for (const AttentionCase& a : draw(with_everything(), 400)) {
    families.insert(a.family);
    causal += a.causal;
    unequal += a.causal && a.shape.keys != a.shape.queries;
    shared += !a.mask.empty() && !a.mask_for_each_head && a.shape.heads() > 1;
    grouped += a.shape.group > 1 && a.shape.kv_heads > 1;
    other_values += a.shape.dim != a.shape.value_dim;
    long_rows += a.shape.keys > 256;
  }
  EXPECT_EQ(families.size(), 17u);
  for (const int count : {causal, unequal, shared, grouped, other_values, long_rows}) EXPECT_GE(count, 10);
}

// A half of the shapes is drawn with values as wide as queries. The count of n draws with p >= 1/2 is below
// n/2 - 5 sqrt(n)/2 once in some 10^6.
TEST(AttentionCase, HalfOfTheShapesHaveValuesAsWideAsQueries) {
  constexpr int draws = 2000;
  int equal = 0;
  // Nothing is halved for its work.
  for (const AttentionCase& a : drawn_attention(small_attention(2, std::size_t{1} << 22), draws, 11)) {
    equal += a.shape.dim == a.shape.value_dim ? 1 : 0;
  }
  EXPECT_GE(equal, draws / 2 - 2.5 * std::sqrt(draws));
}

// A short case has at most a few keys, around a multiple of 128 at the most; a long row would have as many as there may
// be.
TEST(AttentionCase, WithoutLongRowsNoShortCaseHasOne) {
  for (const AttentionCase& a : drawn_attention(small_attention(1000), 100, 11, 1)) EXPECT_LE(a.shape.keys, 129u);
}

double largest_dot(const AttentionCase& a) {
  const AttentionShape& s = a.shape;
  double largest = 0;
  for (std::size_t row = 0; row < s.batch * s.heads() * s.queries; ++row) {
    const std::size_t head = row / s.queries / s.group;
    for (std::size_t j = 0; j < s.keys; ++j) {
      double dot = 0;
      for (std::size_t t = 0; t < s.dim; ++t) {
        dot += std::fabs(a.queries[row * s.dim + t] * a.keys[(head * s.keys + j) * s.dim + t]);
      }
      largest = std::max(largest, dot);
    }
  }
  return std::fabs(a.scale) * largest;
}

// (dim + 4) unit |scale| sum |q k| <= 1/16, or scores of 4, which any accumulator tells apart. Queries are scaled by a
// power of two, exactly: bf16 has no subnormal numbers of their size.
TEST(AttentionCase, ScoresStayWithinWhatTheAccumulatorTellsApart) {
  for (const double unit : {0x1p-8, 0x1p-11, 0x1p-24}) {
    AttentionOptions options = with_everything(Format::bf16);
    options.score_unit = unit;
    options.max_work = std::size_t{1} << 14;
    int limited = 0;
    for (const AttentionCase& a : draw(options, 300)) {
      const double told = 1 / (16 * unit * static_cast<double>(a.shape.dim + 4));
      EXPECT_LE(largest_dot(a), std::max(4.0, told)) << to_text(a);
      limited += largest_dot(a) > std::max(4.0, told) / 2 ? 1 : 0;
    }
    EXPECT_GT(limited, unit == 0x1p-24 ? 0 : 50);
  }
}

TEST(AttentionCase, ShrinksAreSmallerAndKeepToTheOptions) {
  const AttentionOptions options = with_everything();
  for (const AttentionCase& a : draw(options, 40)) {
    auto shrinks = shrink_attention_case(a, options);
    for (int k = 0; k < 30; ++k) {
      const auto simpler = shrinks.next();
      if (!simpler) break;
      ASSERT_TRUE(admits(options, *simpler)) << to_text(*simpler);
      EXPECT_LE(size_of(*simpler), size_of(a));
      EXPECT_NE(to_text(*simpler), to_text(a));
    }
  }
}

// The numbers of (batch, head, key): what a key must keep when others are dropped.
TEST(AttentionCase, WhatIsDroppedIsDroppedFromEveryTensor) {
  AttentionCase a;
  a.shape = {.batch = 2, .kv_heads = 2, .group = 2, .queries = 3, .keys = 4, .dim = 2, .value_dim = 1};
  const AttentionShape& s = a.shape;
  for (std::size_t k = 0; k < s.batch * s.heads() * s.queries * s.dim; ++k) a.queries.push_back(static_cast<double>(k));
  for (std::size_t k = 0; k < s.batch * s.kv_heads * s.keys * s.dim; ++k) a.keys.push_back(static_cast<double>(k));
  for (std::size_t k = 0; k < s.batch * s.kv_heads * s.keys; ++k) a.values.push_back(a.keys[2 * k]);
  a.mask.assign(s.batch * s.heads() * s.queries * s.keys, 1);
  auto shrinks = shrink_attention_case(a, {});
  int seen = 0;
  while (const auto simpler = shrinks.next()) {
    if (size_of(*simpler) == size_of(a) || simpler->shape.dim != s.dim) continue;
    ++seen;
    // Values stay with their keys.
    ASSERT_EQ(simpler->keys.size(), 2 * simpler->values.size());
    for (std::size_t k = 0; k < simpler->values.size(); ++k) EXPECT_EQ(simpler->values[k], simpler->keys[2 * k]);
    const std::size_t scores =
        simpler->mask_heads() == 1 ? simpler->mask.size() * simpler->shape.heads() : simpler->mask.size();
    EXPECT_TRUE(simpler->mask.empty() || scores == size_of(*simpler));
  }
  EXPECT_GT(seen, 8);
}

TEST(AttentionCase, WhatIsNoCaseIsRefused) {
  const std::string right =
      "attention f32 batch=1 kv=1 group=1 queries=1 keys=2 dim=1 values=1 scale=0x1p+0 causal=0 outputs=1 layout=0 "
      "mask=heads:10 q 0x1p+0 k 0x0p+0*2 v 0x1p+0 0x1p+1";
  AttentionCase a;
  from_text(right, a);
  EXPECT_EQ(to_text(a), right);
  const auto without = [&](const std::string& from, const std::string& to) {
    std::string text = right;
    return text.replace(text.find(from), from.size(), to);
  };
  for (const std::string& wrong : {std::string(),
                                   std::string("attention"),
                                   without("attention", "attend"),
                                   without("f32", "f31"),
                                   without("keys=2", "keys=3"),
                                   without("group=1", "group=0"),
                                   without("batch=1", "batch=100000000"),
                                   without("causal=0", "causal=2"),
                                   without("outputs=1", "outputs=4"),
                                   without("heads:10", "heads:12"),
                                   without("heads:10", "10"),
                                   without("scale=0x1p+0", "scale=nan"),
                                   without("k 0x0p+0*2", "k 0x0p+0*20000000"),
                                   without("q 0x1p+0", "q -inf"),
                                   without("v 0x1p+0", "v 0x1.0000001p+0"),
                                   right + " 0x1p+0",
                                   without("heads:10", "heads:(1)*3000000,"),
                                   without("heads:10", "heads:(10"),
                                   without("heads:10", "heads:10 byte=0"),
                                   without("k 0x0p+0*2", "k [ 0x0p+0"),
                                   without("k 0x0p+0*2", "k ]*2"),
                                   without("k 0x0p+0*2", "k [ ]*2"),
                                   without("k 0x0p+0*2", "k [ [ 0x0p+0 ]*3000000 ]*3000000")}) {
    EXPECT_THROW(from_text(wrong, a), std::invalid_argument) << wrong;
  }
}

TEST(AttentionCase, CausalityAlignsTheLastQueryWithTheLastKey) {
  AttentionCase a;
  a.causal = true;
  a.shape.queries = 2;
  a.shape.keys = 3;
  EXPECT_TRUE(a.sees(0, 0, 0, 1) && a.sees(0, 0, 1, 2));
  EXPECT_FALSE(a.sees(0, 0, 0, 2));
  a.shape.keys = 1;
  EXPECT_FALSE(a.sees(0, 0, 0, 0));
  EXPECT_TRUE(a.sees(0, 0, 1, 0));
}

TEST(AttentionCall, EveryTensorHasALayoutOfItsOwnThatKeepsElementsApart) {
  int differing = 0;
  for (const AttentionCase& a : draw(with_everything(), 60)) {
    const TensorCall call = attention_call(a, Format::f32);
    EXPECT_NO_THROW(require_valid(call));
    ASSERT_EQ(call.outputs.size(), static_cast<std::size_t>(a.outputs));
    std::vector<TensorPlace> places;
    for (const InputTensor& input : call.inputs) places.push_back(input.place);
    for (const OutputTensor& output : call.outputs) places.push_back(output.place);
    for (const TensorPlace& place : places) {
      const std::vector<std::size_t> offsets = place.offsets();
      EXPECT_EQ(std::set<std::size_t>(offsets.begin(), offsets.end()).size(), place.elements()) << to_text(a);
    }
    differing += call.inputs[1].place.strides != call.inputs[2].place.strides && a.shape.dim == a.shape.value_dim;
  }
  EXPECT_GE(differing, 10);
}

TEST(AttentionCall, FarApartIsBeyondThirtyTwoBits) {
  AttentionOptions options;
  options.max_work = 256;
  bool beyond = false;
  for (const AttentionCase& a : draw(options, 40)) {
    const TensorCall call = far_apart(attention_call(a, Format::f32));
    for (const InputTensor& input : call.inputs) {
      const std::vector<std::size_t> offsets = input.place.offsets();
      EXPECT_EQ(std::set<std::size_t>(offsets.begin(), offsets.end()).size(), input.place.elements());
      if (!offsets.empty()) beyond |= offsets.back() / input.place.element_bytes() > std::size_t{1} << 32;
    }
  }
  EXPECT_TRUE(beyond);
}

// How often attention's cases are of a kind, and how much of a large one differs.

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
