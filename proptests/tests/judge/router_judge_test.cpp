// Routers: which items a bias and groups let a kernel choose, and what the weights are.
#include <random>
#include <set>

#include "judge/inference/contract_inference.hpp"
#include "judge/ops/topk_softmax/router.hpp"
#include "judge/ops/topk_softmax/topk_choice.hpp"
#include "proptests/tests/judge/our_kernels.hpp"
#include "proptests/tests/judge/row_samples.hpp"

namespace softcheck::proptests::router_judge {
namespace {

using namespace numerics;

constexpr const char* usual = "acc=f32 exp=1ulp sum=sequential";
using Claims = std::vector<std::string>;

double logistic(double x) { return 1 / (1 + std::exp(-x)); }

struct Answer {
  Row weights, ids;
};

// The weights of these items, rounded to f32.
Answer answer_of(const Row& logits, const Row& ids, const Attributes& a) {
  double sum = 0, chosen = 0;
  for (const double x : logits) sum += std::exp(x);
  Row p;
  for (const double id : ids) {
    const double x = logits[static_cast<std::size_t>(id)];
    p.push_back(a.sigmoid ? logistic(x) : std::exp(x) / sum);
    chosen += p.back();
  }
  for (double& w : p)
    w = round_to(Format::f32, w / (a.renormalize ? chosen : 1) * (a.routed_scale == 0 ? 1 : a.routed_scale));
  return {p, ids};
}

Claims broken(const Row& logits, const Row& bias, Attributes a, const Answer& answer) {
  a.k = static_cast<std::int32_t>(answer.ids.size());
  Row got = answer.weights;
  got.insert(got.end(), answer.ids.begin(), answer.ids.end());
  return broken_claims(
      verdicts_of(Op::topk_softmax, logits, got, {.contract = usual, .auxiliary = {bias}, .attributes = a}));
}
Claims broken(const Row& logits, const Row& bias, const Attributes& a, const Row& ids) {
  return broken(logits, bias, a, answer_of(logits, ids, a));
}

const Row logits{1, 3, 2, 0}, bias{0.5, -1, 0, 0.25};

TEST(RouterJudge, ABiasChoosesAndDoesNotWeigh) {
  const Attributes sigmoids{.sigmoid = true};
  // Scores of 1.23, -0.05, 0.88, 0.75.
  EXPECT_EQ(broken(logits, bias, sigmoids, Row{0, 2}), Claims{});
  EXPECT_EQ(broken(logits, bias, sigmoids, Row{2, 0}), Claims{"order"});
  EXPECT_EQ(broken(logits, bias, sigmoids, Row{1, 2}), (Claims{"ids", "order"}));
  EXPECT_EQ(broken(logits, {}, sigmoids, Row{1, 2}), Claims{});
  EXPECT_EQ(broken(logits, bias, {}, Row{0, 3}), Claims{});
  EXPECT_EQ(broken(logits, bias, {}, Row{0, 2}), Claims{"ids"});
  const Answer right = answer_of(logits, {0, 2}, sigmoids);
  EXPECT_EQ(broken(logits, bias, sigmoids, Answer{{right.weights[0] + 0.5, right.weights[1]}, {0, 2}}),
            Claims{"weight"});
  EXPECT_EQ(broken(logits, bias, {}, Answer{right.weights, {0, 3}}), Claims{"weight"});
}

TEST(RouterJudge, WeightsAreDividedAndThenMultiplied) {
  for (const bool sigmoids : {false, true}) {
    for (const bool renormalize : {false, true}) {
      const Attributes a{.renormalize = renormalize, .sigmoid = sigmoids, .routed_scale = 2.5};
      EXPECT_EQ(broken(logits, {}, a, Row{1, 2}), Claims{});
      Attributes unscaled = a, other = a;
      unscaled.routed_scale = 0;
      other.renormalize = !renormalize;
      EXPECT_EQ(broken(logits, {}, a, answer_of(logits, {1, 2}, unscaled)), Claims{"weight"});
      EXPECT_EQ(broken(logits, {}, a, answer_of(logits, {1, 2}, other)), Claims{"weight"});
      Answer near = answer_of(logits, {1, 2}, a);
      near.weights[0] *= 1 + 0x1p-18;
      EXPECT_EQ(broken(logits, {}, a, near), Claims{"weight"});
    }
  }
}

TEST(RouterJudge, OnlyTheBestGroupsHaveChosenItems) {
  const Row four{3, -2, 2, 1, 0, 0, -1, 1.5};  // sigmoids: 0.95 0.12, 0.88 0.73, 0.5 0.5, 0.27 0.82
  Attributes a{.sigmoid = true, .groups = 4, .groups_kept = 2, .group_items = 1};
  EXPECT_EQ(broken(four, {}, a, Row{0, 2}), Claims{});
  EXPECT_EQ(broken(four, {}, a, Row{0, 2, 3}), Claims{});
  EXPECT_EQ(broken(four, {}, a, Row{0, 2, 7}), Claims{"ids"});
  a.group_items = 2;  // 1.07, 1.61, 1, 1.09
  EXPECT_EQ(broken(four, {}, a, Row{2, 7}), Claims{});
  EXPECT_EQ(broken(four, {}, a, Row{0, 2}), Claims{"ids"});
  EXPECT_EQ(broken(four, {}, a, Row{2, 7, 3, 6}), Claims{});
  a.groups_kept = 1;
  EXPECT_EQ(broken(four, {}, a, Row{2, 3}), Claims{});
  EXPECT_EQ(broken(four, {}, a, Row{2}), Claims{});
  EXPECT_EQ(broken(four, {}, a, Row{3}), Claims{"ids"});
  // Scores below 0 are larger than those of other groups, whatever these are masked with.
  const Row low(8, -1.5);
  EXPECT_EQ(broken(four, low, a, Row{2, 3}), Claims{});
  EXPECT_EQ(broken(four, low, a, Row{0, 1}), Claims{"ids"});
}

// Two groups whose scores differ by less than their errors: each may be kept, with its own items.
TEST(RouterJudge, ANearTieOfGroupsGoesEitherWay) {
  const Row near{1, 1, 1 + 0x1p-23, 1, -1, -1};
  const Attributes a{.sigmoid = true, .groups = 3, .groups_kept = 1, .group_items = 2};
  EXPECT_EQ(broken(near, {}, a, Row{0, 1}), Claims{});
  EXPECT_EQ(broken(near, {}, a, Row{3, 2}), Claims{});
  EXPECT_EQ(broken(near, {}, a, Row{0, 2}), Claims{"ids"});
  EXPECT_EQ(broken(near, {}, a, Row{4, 5}), Claims{"ids"});
  Row apart = near;
  apart[2] = 1 + 0x1p-16;
  EXPECT_EQ(broken(apart, {}, a, Row{0, 1}), Claims{"ids"});
  EXPECT_EQ(broken(apart, {}, a, Row{2, 3}), Claims{});
  // A group that may be kept must be, if it has items that must be chosen.
  const Attributes two{.sigmoid = true, .groups = 3, .groups_kept = 2, .group_items = 2};
  EXPECT_EQ(broken(near, {}, two, Row{0, 1, 2, 3}), Claims{});
  EXPECT_EQ(broken(near, {}, two, Row{0, 1, 4}), Claims{"ids"});
}

struct Kernel {
  bool by_logits, reciprocal, backwards;
  bool narrow = false;  // coefficients are stored in bf16
};

// A router in f32.
Answer routed(const Row& logits, const Row& bias, const Attributes& a, const Kernel& kernel) {
  const std::size_t n = logits.size(), groups = a.groups == 0 ? 1 : static_cast<std::size_t>(a.groups),
                    size = n / groups;
  std::vector<float> p, scores;
  float sum = 0;
  const auto m = static_cast<float>(*std::ranges::max_element(logits));
  for (const double x : logits) {
    p.push_back(a.sigmoid ? 1 / (1 + std::exp(-static_cast<float>(x))) : std::exp(static_cast<float>(x) - m));
    sum += p.back();
  }
  for (std::size_t i = 0; i < n; ++i) {
    if (!a.sigmoid) p[i] /= sum;
    if (kernel.narrow) p[i] = static_cast<float>(round_to(Format::bf16, p[i]));
    scores.push_back(kernel.by_logits ? static_cast<float>(logits[i]) : p[i]);
    if (!bias.empty()) scores[i] += static_cast<float>(bias[i]);
  }
  std::vector<std::pair<float, std::size_t>> best;
  for (std::size_t g = 0; g < groups; ++g) {
    std::vector<float> own(&scores[g * size], &scores[g * size] + size);
    std::ranges::sort(own, std::greater());
    best.emplace_back(a.group_items == 2 && size > 1 ? own[0] + own[1] : own[0], g);
  }
  std::ranges::sort(best, std::greater());
  std::vector<std::size_t> items;
  for (std::size_t b = 0; b < (a.groups == 0 ? 1 : static_cast<std::size_t>(a.groups_kept)); ++b) {
    for (std::size_t i = 0; i < size; ++i) items.push_back(best[b].second * size + i);
  }
  std::ranges::sort(items, [&](auto i, auto j) { return scores[i] > scores[j]; });
  items.resize(static_cast<std::size_t>(a.k));
  float chosen = 0;
  for (std::size_t k = 0; k < items.size(); ++k) chosen += p[items[kernel.backwards ? items.size() - 1 - k : k]];
  Answer answer;
  for (const std::size_t i : items) {
    float w = p[i];
    if (a.renormalize) w = kernel.reciprocal ? w * (1 / chosen) : w / chosen;
    if (a.routed_scale != 0) w *= static_cast<float>(a.routed_scale);
    answer.weights.push_back(w);
    answer.ids.push_back(static_cast<double>(i));
  }
  return answer;
}

// Every kernel of the contract is right, and its errors are a fair part of what is granted.
TEST(RouterJudge, SimulatedKernelsStayWithinTheBounds) {
  std::mt19937_64 random(7);
  const RowOp& op = Op::topk_softmax.rows();
  const Contract wide = parse_contract(usual, Format::f32, Format::f32),
                 narrow = parse_contract(std::string(usual) + " weights=bf16", Format::f32, Format::f32);
  const char* const domains[] = {"scores=sigmoid bias groups routed_scale", "scores=either groups", "bias groups",
                                 "scores=sigmoid", "routed_scale bias scores=either"};
  std::map<bool, double> shares;
  for (int round = 0; round < 4000; ++round) {
    const char* const words = domains[round % 5];
    const std::uint64_t of_domain = op.set_auxiliaries(parse_domain(words, false)),
                        auxiliary = random() % (most_auxiliary + 1) + of_domain;
    Row drawn(4 + random() % 60);
    for (double& x : drawn) x = round_to(Format::f32, static_cast<double>(random() % 4096) / 128 - 16);
    const std::vector<Row> inputs = op.input_values(Format::f32, drawn, auxiliary);
    const Attributes a = op.attributes(auxiliary, drawn.size());
    Kernel kernel{random() % 2 == 0, random() % 2 == 0, random() % 2 == 0, random() % 2 == 0};
    kernel.by_logits &= inputs[1].empty() && a.group_items != 2;
    // A softmax that is divided in bf16 is no contract's.
    kernel.narrow &= a.sigmoid;
    const Answer answer = routed(inputs[0], inputs[1], a, kernel);
    Row got = answer.weights;
    got.insert(got.end(), answer.ids.begin(), answer.ids.end());
    const RowVerdicts verdicts =
        judge_values(Op::topk_softmax, kernel.narrow ? narrow : wide, inputs[0], 1, got, {{inputs[1]}}, a);
    ASSERT_EQ(broken_claims(verdicts), Claims{}) << words << ' ' << auxiliary << ' ' << drawn.size();
    for (const ValueFinding& found : verdicts.findings) {
      double& share = shares[kernel.narrow];
      share = std::max(share, found.share());
    }
  }
  EXPECT_GT(shares[false], 0.3);
  EXPECT_GT(shares[true], 0.8);
}

TEST(RouterJudge, QuickValuesAreThoseOfTheOracle) {
  const RowOp& op = Op::topk_softmax.rows();
  const Contract contract = parse_contract(usual, Format::f32, Format::f32);
  const Row drawn{1, 2, 3, 4, -5, 6, 7, 8, 9.5, -16, 11, 12};
  for (std::uint64_t auxiliary = 0; auxiliary < 512; ++auxiliary) {
    const std::uint64_t of_call =
        auxiliary | op.set_auxiliaries(parse_domain("scores=either bias groups routed_scale", false));
    const std::vector<Row> inputs = op.input_values(Format::f32, drawn, of_call);
    const Attributes a = op.attributes(of_call, drawn.size());
    Row lower(2 * static_cast<std::size_t>(a.k)), upper = lower, allowed = lower;
    exact_row(Op::topk_softmax, contract, inputs[0], 1, lower, upper, {{inputs[1]}}, a);
    granted_row(Op::topk_softmax, contract, inputs[0], 1, allowed, {{inputs[1]}}, a);
    Row got = lower;
    EXPECT_EQ(broken(inputs[0], inputs[1], a, {{got.begin(), got.begin() + a.k}, {got.begin() + a.k, got.end()}}),
              Claims{});
    for (std::size_t i = 0; i < static_cast<std::size_t>(a.k); ++i) {
      EXPECT_LE(upper[i] - lower[i], 0x1p-48 * upper[i]);
      got = lower;
      got[i] += 3 * allowed[i];
      EXPECT_EQ(broken(inputs[0], inputs[1], a, {{got.begin(), got.begin() + a.k}, {got.begin() + a.k, got.end()}}),
                Claims{"weight"});
    }
  }
}

TEST(RouterJudge, ACallHasWhatItsDomainSays) {
  const RowOp& op = Op::topk_softmax.rows();
  const auto attributes = [&](const char* words, std::uint64_t auxiliary, std::size_t n) {
    const Domain domain = parse_domain(words, false);
    return op.attributes((auxiliary & ~op.closed_auxiliaries(domain)) | op.set_auxiliaries(domain), n);
  };
  for (std::uint64_t auxiliary = 0; auxiliary < 64; ++auxiliary) {
    const Attributes v3 = attributes("scores=sigmoid bias groups=8 kept=4 group_items=2 k=8", auxiliary, 256);
    EXPECT_TRUE(v3.sigmoid && v3.groups == 8 && v3.groups_kept == 4 && v3.group_items == 2 && v3.k == 8);
    for (const std::size_t n : {1, 2, 7, 12, 128}) {
      const Attributes any = attributes("groups", auxiliary, n);
      const auto size = static_cast<std::int32_t>(n) / any.groups;
      EXPECT_EQ(size * any.groups, static_cast<std::int32_t>(n));
      EXPECT_TRUE(any.groups_kept >= 1 && any.groups_kept <= any.groups && any.group_items <= size);
      EXPECT_LE(any.k, any.groups_kept * size);
    }
    EXPECT_LE(attributes("groups=8 kept=1", auxiliary, 16).k, 2);
    EXPECT_EQ(attributes("", auxiliary, 12).groups, 0);
    EXPECT_FALSE(attributes("", auxiliary, 12).sigmoid);
  }
  const std::string words = to_string(parse_domain("scores=sigmoid bias groups=8 kept=4 group_items=2 k=8", false));
  EXPECT_EQ(to_string(parse_domain(words, false)), words);
  EXPECT_NE(words.find("n=8k n>=16"), std::string::npos) << words;
  for (const char* const wrong :
       {"groups=8 n=12", "groups=0", "groups=128", "groups=2|4", "groups<=4", "groups=8 kept=9", "groups=8 kept=0",
        "groups kept<=4", "groups group_items=3", "groups=8 kept=1|2"}) {
    EXPECT_THROW(parse_domain(wrong, false), std::invalid_argument) << wrong;
  }
  EXPECT_EQ(attributes("groups=127 kept=127 group_items=1", 0, 254).groups, 127);
  EXPECT_EQ(op.set_auxiliaries({}), 0u);
}

TEST(RouterJudge, TheBiasIsOfTheCall) {
  const RowOp& op = Op::topk_softmax.rows();
  const std::uint64_t of_domain = op.set_auxiliaries(parse_domain("scores=sigmoid bias groups=2 kept=1", false));
  RowMatrixCase matrix = matrix_of_rows(Format::bf16, {{1, 2, 3, 4}, {4, 5, 6, 7}}, 1 + 64 * 9 + of_domain);
  const TensorCall call = call_of(matrix, Op::topk_softmax, {Format::bf16, Format::f32});
  EXPECT_EQ(call.roles, (std::vector<Role>{Role::logits, Role::bias}));
  EXPECT_EQ(call.inputs[1].place.shape, Shape{4});
  EXPECT_EQ(call.inputs[1].place.format, Format::f32);
  EXPECT_EQ(inputs_of(matrix, Op::topk_softmax, Format::bf16, 0)[1], call.inputs[1].values);
  EXPECT_EQ(inputs_of(matrix, Op::topk_softmax, Format::bf16, 1)[1], call.inputs[1].values);
  EXPECT_TRUE(call.attributes.sigmoid);
  EXPECT_EQ(traits_of(matrix, Op::topk_softmax).lengths.at("groups"), 2u);
  EXPECT_TRUE(traits_of(matrix, Op::topk_softmax).bias);
}

TEST(RouterJudge, AFixedKLeavesTheBiasAndTheFactorFree) {
  const Domain domain = parse_domain("scores=sigmoid bias routed_scale renormalize=1 n=128 k=8", false);
  std::set<double> factors;
  std::set<Row> biases;
  for (std::uint64_t drawn = 0; drawn < 64; ++drawn) {
    const std::uint64_t auxiliary = (drawn & ~closed_choices(domain)) | set_choices(domain);
    const Attributes a = drawn_choice(auxiliary, 128);
    EXPECT_EQ(a.k, 8);
    EXPECT_TRUE(a.renormalize);
    factors.insert(a.routed_scale);
    biases.insert(router_inputs(Format::f32, Row(128, 0.0), auxiliary).at(1));
  }
  EXPECT_GE(factors.size(), 4u);
  EXPECT_GE(biases.size(), 4u);
}

// Labelled full: RouterJudge.ARoutersContractIsInferred
TEST(RouterJudge, ARoutersContractIsInferred) {
  const auto inferred = [](const char* symbol, const char* domain) {
    return infer_contract(zoo_subject(symbol, {.op = Op::topk_softmax, .domain = domain}), quick_options({}, 40));
  };
  const Inference right = inferred("correct_router", "scores=sigmoid bias groups group_items=2 routed_scale");
  ASSERT_TRUE(right.contract) << right.failure;
  EXPECT_EQ(right.contract->accumulator, Format::f32);
  EXPECT_EQ(right.verdict(), ReportVerdict::pass) << right.summary();
  EXPECT_TRUE(right.grade.is_own());
  EXPECT_FALSE(inferred("mutant_router_bias_in_weights", "scores=sigmoid bias").contract);
}

}  // namespace
}  // namespace softcheck::proptests::router_judge
