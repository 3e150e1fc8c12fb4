// Terms of attention's gradient: what its sinks, its bias and a loss on its log-sum-exps ask of a call, and packed
// sequences; what the judge sums.
#include "judge/ops/attention/bias_gradient.hpp"
#include "judge/ops/attention/sink_gradient.hpp"
#include "proptests/tests/judge/attention_samples.hpp"

namespace softcheck::proptests {
namespace {

using namespace numerics;

AttentionOptions small_gradients(const char* words) {
  AttentionOptions options = small_attention(20, 256, words);
  options.gradients = true;
  options.format = Format::bf16;
  return options;
}
AttentionOptions blind_gradients(const char* words) {
  AttentionOptions options = small_gradients(words);
  options.blind_queries = true;
  return options;
}

// Checks that a word is the gradient's alone and reads back.
Domain is_a_word_of_the_gradient(const std::string& word) {
  EXPECT_THROW(domain_of(word, Op::attention), std::invalid_argument);
  const Domain asking = domain_of(word + " alibi", Op::attention_backward);
  EXPECT_EQ(parse_domain(to_string(asking), true), asking);
  return asking;
}

// A call of the domain has a fourth output where the domain asks for one, and no call without it is one of the domain.
void expect_asked(const AttentionOptions& options, const AttentionCase& a, const TensorCall& call, bool asked) {
  ASSERT_EQ(call.outputs.size(), asked ? 4u : 3u);
  EXPECT_TRUE(admits(options, a));
  AttentionCase fewer = a;
  fewer.outputs = 1;
  if (asked) {
    EXPECT_FALSE(admits(options, fewer));
  }
}

// The first claim that does not hold; empty where all do.
std::string broken_bias(const AttentionCase& a, const std::vector<double>& got, std::size_t* rows = nullptr) {
  std::string broken;
  judge_bias_gradient(gradient_task(), a, got, {},
                      [&](std::size_t, std::size_t, std::size_t, const RowVerdicts& verdicts) {
                        if (rows != nullptr) ++*rows;
                        for (const ValueFinding& finding : verdicts.findings) {
                          if (broken.empty() && finding.decision != Decision::proved) broken = finding.claim;
                        }
                      });
  return broken;
}

// One query of scores 0 and two keys: p = 1/2, and p (g - delta) is -dO and dO times a quarter of the values' distance.
AttentionCase two_heads(bool shared) {
  AttentionCase a;
  a.shape = {1, 1, 2, 1, 2, 1, 1};
  a.queries = {0, 0};
  a.keys = {0, 0};
  a.values = {1, 3};
  a.gradients = {1, 4};
  a.attributes.bias_for_each_head = !shared;
  a.attributes.bias.assign(shared ? 2 : 4, 0);
  a.outputs = 3;
  return a;
}

TEST(BiasGradient, IsAskedForByItsWord) {
  EXPECT_TRUE(is_a_word_of_the_gradient("dbias").bias);
  for (const auto& [words, asked] : {std::pair{"dbias", true}, std::pair{"bias", false}}) {
    const AttentionOptions options = small_gradients(words);
    for (const AttentionCase& a : drawn_attention(options, 10, 3)) {
      ASSERT_FALSE(a.attributes.bias.empty());
      const TensorCall call = gradient_call(a, Format::bf16);
      expect_asked(options, a, call, asked);
      if (!asked) continue;
      EXPECT_EQ(call.outputs[3].place.shape, call.inputs.back().place.shape);
      EXPECT_EQ(call.outputs[3].place.format, Format::bf16);
    }
  }
}

TEST(BiasGradient, BothAreAskedForByBothWords) {
  AttentionCase a = two_heads(false);
  a.attributes.sinks = {0, 0};
  for (const auto& [outputs, count] : {std::pair{1, 3u}, std::pair{2, 4u}, std::pair{3, 4u}, std::pair{4, 5u}}) {
    a.outputs = outputs;
    EXPECT_EQ(gradient_call(a).outputs.size(), count);
    EXPECT_EQ(read_back(a), a);
  }
}

TEST(BiasGradient, HeadsThatShareABiasAreSummed) {
  std::size_t rows = 0;
  EXPECT_EQ(broken_bias(two_heads(false), {-0.5, 0.5, -2, 2}, &rows), "");
  EXPECT_EQ(rows, 2u);
  EXPECT_EQ(broken_bias(two_heads(true), {-2.5, 2.5}), "");
  EXPECT_EQ(broken_bias(two_heads(true), {-2, 2}), "kernel.attention_backward.dbias");
  EXPECT_EQ(broken_bias(two_heads(false), {-0.5, 0.5, -2, -2}), "kernel.attention_backward.dbias");
  EXPECT_EQ(place_of(two_heads(false), bias_number(two_heads(false), 0, 1, 0)), " at batch=0 bias head=1 query=0");
}

TEST(BiasGradient, AKeyThatNoHeadSeesHasNone) {
  AttentionCase a = two_heads(true);
  a.mask = {1, 0, 1, 0};  // of both heads
  EXPECT_EQ(broken_bias(a, {0, 0}), "");
  EXPECT_EQ(broken_bias(a, {0, 0x1p-149}), "kernel.masked_row");
  a.mask = {1, 0, 1, 1};  // the second head sees it
  EXPECT_EQ(broken_bias(a, {-2, 2}), "");
  a.mask = {0, 0, 0, 0};
  EXPECT_EQ(broken_bias(a, {0, 0}), "");
  EXPECT_EQ(broken_bias(a, {1, 0}), "kernel.masked_row");
}

// A score of 2 under a softcap of 1 is tanh 2, whose slope is 0.07: a bias stands behind it.
TEST(BiasGradient, ASoftcapHasNoPartInIt) {
  AttentionCase a = two_heads(true);
  a.shape.group = 1;
  a.queries = {1};
  a.keys = {0, 2};
  a.gradients = {1};
  a.attributes.softcap = 1;
  const double weight = 1 / (1 + std::exp(-std::tanh(2.0))), gradient = 2 * weight * (1 - weight);
  const double slope = 1 - std::tanh(2.0) * std::tanh(2.0);
  const auto both = [](double x) { return std::vector{-round_to(Format::f32, x), round_to(Format::f32, x)}; };
  EXPECT_EQ(broken_bias(a, both(gradient)), "");
  EXPECT_EQ(broken_bias(a, {both(gradient)[0], both(gradient * slope)[1]}), "kernel.attention_backward.dbias");
}

TEST(BiasGradient, ARowWaitsForAllHeadsThatShareIt) {
  std::size_t rows = 0;
  const auto count = [&](std::size_t, std::size_t, std::size_t, const RowVerdicts&) { ++rows; };
  const auto first = [](std::size_t, std::size_t h, std::size_t) { return h == 0; };
  judge_bias_gradient(gradient_task(), two_heads(true), std::vector{-2.5, 2.5}, first, count);
  EXPECT_EQ(rows, 0u);
  judge_bias_gradient(gradient_task(), two_heads(false), std::vector{-0.5, 0.5, 7.0, 7.0}, first, count);
  EXPECT_EQ(rows, 1u);
}

// Of the domain's word alone: a kernel that was written before is judged as before.
TEST(SinkGradient, IsAskedForByItsWord) {
  EXPECT_TRUE(is_a_word_of_the_gradient("dsinks").sinks);
  for (const auto& [words, asked] : {std::pair{"dsinks", true}, std::pair{"sinks", false}}) {
    const AttentionOptions options = small_gradients(words);
    for (const AttentionCase& a : drawn_attention(options, 20, 3)) {
      ASSERT_FALSE(a.attributes.sinks.empty());
      const TensorCall call = gradient_call(a, Format::bf16);
      expect_asked(options, a, call, asked);
      if (!asked) continue;
      EXPECT_EQ(call.outputs[3].place.shape, Shape{static_cast<std::int64_t>(a.shape.heads())});
      EXPECT_EQ(call.outputs[3].place.format, Format::f32);
      AttentionCase fewer = a;
      fewer.outputs = 1;
      fewer.attributes.sinks.clear();
      EXPECT_TRUE(admits(options, fewer));
    }
  }
}

// A head none of whose queries sees a key: delta is 0.
TEST(SinkGradient, ASinkThatIsSeenAloneHasNone) {
  AttentionCase a;
  a.shape = {1, 1, 1, 1, 1, 1, 1};
  a.queries = a.keys = a.values = a.gradients = {1};
  a.mask = {0};
  a.attributes.sinks = {3};
  a.outputs = 2;
  const AttentionTask task = gradient_task();
  for (const double got : {0.0, -0x1p-149}) {
    const std::optional<RowVerdicts> verdicts = judge_sink_gradient(task, a, 0, got);
    ASSERT_TRUE(verdicts && verdicts->findings.size() == 1);
    EXPECT_EQ(verdicts->findings[0].claim, "kernel.masked_row");
    EXPECT_EQ(verdicts->findings[0].decision, got == 0 ? Decision::proved : Decision::violated);
  }
}

// Two batches of a query each: p_sink = 1/2 and delta = dO v / 2.
TEST(SinkGradient, IsSummedOverTheBatch) {
  AttentionCase a;
  a.shape = {2, 1, 1, 1, 1, 1, 1};
  a.queries = a.keys = {0, 0};
  a.values = {1, 1};
  a.gradients = {1, 4};
  a.attributes.sinks = {0};
  a.outputs = 2;
  const AttentionTask task = gradient_task();
  for (const auto& [got, right] : {std::pair{-1.25, true}, std::pair{-1.0, false}, std::pair{1.25, false}}) {
    const std::optional<RowVerdicts> verdicts = judge_sink_gradient(task, a, 0, got);
    ASSERT_TRUE(verdicts && verdicts->findings.size() == 1);
    EXPECT_EQ(verdicts->findings[0].claim, "kernel.attention_backward.dsinks");
    EXPECT_EQ(verdicts->findings[0].decision, right ? Decision::proved : Decision::violated);
  }
  EXPECT_FALSE(judge_sink_gradient(task, a, 0, 0, [](std::size_t b, std::size_t) { return b == 1; }));
}

AttentionCase packed_gradient() {
  AttentionCase a = packed_by_hand();
  a.gradients = {31, 32, 33, 34, 35, 36, 37, 38};
  return a;
}

TEST(PackedGradient, ACallHoldsOneSequenceBehindTheOther) {
  const TensorCall call = gradient_call(packed_gradient());
  EXPECT_EQ(call.roles, (std::vector<Role>{Role::query, Role::key, Role::value, Role::out, Role::lse,
                                           Role::out_gradient, Role::cu_q, Role::cu_k}));
  EXPECT_EQ(call.inputs[0].values, (std::vector<double>{1, 3, 5, 7, 6, 8}));
  EXPECT_EQ(call.inputs[1].values, (std::vector<double>{10, 11, 12}));
  EXPECT_EQ(call.inputs[5].values, (std::vector<double>{31, 33, 35, 37, 36, 38}));
  EXPECT_EQ(call.inputs[4].place.shape, (std::vector<std::int64_t>{2, 3}));
  // (heads, total): the second sequence has no key.
  for (const std::size_t row : {1, 2, 4, 5}) EXPECT_EQ(call.inputs[4].values[row], -infinity);
  const double of_first = std::log(std::exp(10.0) + std::exp(11.0) + std::exp(12.0));
  EXPECT_EQ(std::round(1000 * call.inputs[4].values[0]), std::round(1000 * of_first));
  EXPECT_EQ(call.outputs[0].place.shape, (std::vector<std::int64_t>{3, 2, 1}));
  EXPECT_EQ(call.outputs[1].place.shape, (std::vector<std::int64_t>{3, 1, 1}));
  const AttentionOp::Outputs dense =
      Op::attention_backward.attention_op().dense(packed_gradient(), {{1, 3, 5, 7, 6, 8}, {10, 11, 12}, {20, 21, 22}});
  EXPECT_EQ(dense[0], (std::vector<double>{1, 0, 3, 0, 5, 6, 7, 8}));
  EXPECT_EQ(dense[1], (std::vector<double>{10, 11, 12, 0, 0, 0}));
  EXPECT_EQ(dense[2], (std::vector<double>{20, 21, 22, 0, 0, 0}));
}

// The first sequence has no queries; the numbers of the one that it could have are those of the second's.
TEST(PackedGradient, AQueryOfNoSequenceIsLikeNoOther) {
  AttentionCase a;
  a.shape = {2, 1, 1, 1, 1, 1, 1};
  a.queries = a.keys = a.values = a.gradients = {0, 0};
  a.sequences.packed = true;
  a.sequences.queries = {0, 1};
  a.sequences.keys = {1, 1};
  EXPECT_EQ(gradient_call(a).inputs[4].values, std::vector<double>{0});
}

TEST(PackedGradient, PagesAreNoneOfItsLayouts) {
  EXPECT_NO_THROW(domain_of("packed dsinks window", Op::attention_backward));
  EXPECT_THROW(domain_of("pages", Op::attention_backward), std::invalid_argument);
  EXPECT_THROW(domain_of("packed pages", Op::attention_backward), std::invalid_argument);
  EXPECT_THROW(domain_of("packed", Op::adaptive_attention), std::invalid_argument);
}

TEST(LseGradient, IsAWordOfAttentionsGradientAlone) {
  EXPECT_THROW(domain_of("dlse", Op::attention), std::invalid_argument);
  EXPECT_THROW(domain_of("dlse dsinks", Op::attention_backward), std::invalid_argument);
  const Domain domain = domain_of("dlse sinks dbias", Op::attention_backward);
  EXPECT_EQ(parse_domain(to_string(domain), true), domain);
}

TEST(LseGradient, IsTheLastInputOfItsCalls) {
  for (const char* words : {"dlse", "packed dlse window"}) {
    const AttentionOptions options = blind_gradients(words);
    std::size_t seen = 0;
    for (const AttentionCase& a : drawn_attention(options, 12, 5)) {
      if (a.attributes.lse_gradients.empty()) continue;
      ++seen;
      EXPECT_TRUE(admits(options, a));
      const TensorCall call = gradient_call(a, Format::bf16);
      EXPECT_EQ(call.roles.back(), Role::lse_gradient);
      EXPECT_EQ(call.inputs.back().place.format, Format::f32);
      EXPECT_EQ(call.inputs.back().place.shape, call.inputs[4].place.shape) << words;  // as lse
      EXPECT_EQ(call.op, static_cast<std::uint32_t>(SOFTCHECK_OP_ATTENTION_BACKWARD));
      const AttentionCase read = read_back(a);
      EXPECT_EQ(read.attributes.lse_gradients, a.attributes.lse_gradients);
      EXPECT_EQ(to_text(read), to_text(a));
    }
    EXPECT_GT(seen, 4u) << words;
  }
}

TEST(LseGradient, ShrinksWithItsQueries) {
  const AttentionOptions options = blind_gradients("dlse");
  std::size_t steps = 0, without = 0, fewer = 0;
  for (const AttentionCase& a : drawn_attention(options, 6, 9)) {
    rc::Seq<AttentionCase> simpler = shrink_attention_case(a, options);
    for (auto next = simpler.next(); next; next = simpler.next()) {
      ++steps;
      EXPECT_TRUE(sizes_agree(*next)) << to_text(*next);
      const bool none = next->attributes.lse_gradients.empty();
      without += none ? 1 : 0;
      fewer += !none && next->shape.queries < a.shape.queries ? 1 : 0;
    }
  }
  EXPECT_GT(steps, 20u);
  EXPECT_GT(without, 0u);
  EXPECT_GT(fewer, 0u);
}

// A query of scores 0 and two keys: p = 1/2, g = 1 and 3, delta = 2.
AttentionCase gradient_of_two_keys(double by_lse) {
  AttentionCase a;
  a.shape = {1, 1, 1, 1, 2, 1, 1};
  a.queries = {0};
  a.keys = {1, 2};
  a.values = {1, 3};
  a.gradients = {1};
  a.attributes.lse_gradients = {by_lse};
  return a;
}

std::vector<std::string> broken_by(const AttentionCase& a, double dq) {
  return broken_claims(gradient_task(), a, {{dq}, {0, 0}, {0.5, 0.5}});
}

TEST(LseGradient, IsAddedToEachDifference) {
  EXPECT_THAT(broken_by(gradient_of_two_keys(4), 6.5), IsEmpty());  // (-1 + 4) / 2 + 2 (1 + 4) / 2
  EXPECT_THAT(broken_by(gradient_of_two_keys(0), 0.5), IsEmpty());
  for (const double wrong : {0.5, -5.5, 12.5}) {
    EXPECT_EQ(broken_by(gradient_of_two_keys(4), wrong).at(0), "kernel.attention_backward.dq") << wrong;
  }
  // Of two queries alike the second has another gradient: they are not one.
  AttentionCase a = gradient_of_two_keys(4);
  a.shape.queries = 2;
  a.queries = {0, 0};
  a.gradients = {1, 1};
  a.attributes.lse_gradients = {4, 0};
  const std::vector<std::vector<double>> got{{6.5, 0.5}, {0, 0}, {1, 1}};
  EXPECT_THAT(broken_claims(gradient_task(), a, got), IsEmpty());
  EXPECT_GT(all_findings(gradient_task(), a, got).size(), 3u);
}

}  // namespace
}  // namespace softcheck::proptests
