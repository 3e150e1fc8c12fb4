// Where attention is judged: every class of a call is met at default effort, calls keep to a domain, and rows that
// repeat one another are judged once.
#include <fstream>
#include <span>
#include <sstream>

#include "judge/ops/attention/attention_poison.hpp"
#include "judge/ops/attention/attention_repeats.hpp"
#include "judge/trial/kernel_claims.hpp"
#include "proptests/generators/attention/attention.hpp"
#include "proptests/generators/attention/attention_classes.hpp"
#include "proptests/tests/judge/attention_samples.hpp"

namespace softcheck::proptests {
namespace {

KernelSubject at_home(const std::string& symbol, const std::string& domain) {
  return zoo_subject(symbol,
                     {.op = Op::attention, .contract = "acc=f32 exp=1ulp sum=sequential masked=nan", .domain = domain});
}

constexpr const char* home = "dim=16k values=16k keys<=512 nomask compact align=64";

std::vector<AttentionCase> covering_cases(const AttentionOptions& options, std::optional<std::size_t> each) {
  const AttentionBudget budget;
  const std::vector<ClassChoice> choices = attention_choices(options, budget, 5, each);
  return drawn(attention_cases_of(choices, options, budget), static_cast<int>(choices.size()), 3);
}

AttentionOptions covering() {
  AttentionOptions options;
  options.blind_queries = true;
  return options;
}

// Labelled full: AttentionCoverage.EveryClassIsMetAtDefaultEffort
TEST(AttentionCoverage, EveryClassIsMetAtDefaultEffort) {
  const KernelSubject subject = cpu_subject("softcheck_attention", {.op = Op::attention});
  const KernelJudgement judgement = judge_kernel(subject, judge_options(Effort::normal));
  EXPECT_EQ(judgement.verdict, ReportVerdict::pass);
  ASSERT_EQ(judgement.coverage.dimensions().size(), attention_traits);
  for (const Coverage::Entry& entry : judgement.coverage.entries()) {
    EXPECT_GT(entry.calls, 0u) << entry.dimension << ": " << entry.name << " " << entry.reason;
  }
}

TEST(AttentionCoverage, TheTableOfClassesIsTheOneThatIsWrittenDown) {
  std::ifstream file(SOFTCHECK_SOURCE_DIR "/docs/kernels/calls.md");
  std::stringstream text;
  text << file.rdbuf();
  for (const AttentionDimension& dimension : attention_dimensions()) {
    std::string row = "| " + dimension.name + " | ";
    for (std::size_t c = 0; c < dimension.classes.size(); ++c) row += (c > 0 ? " · " : "") + dimension.classes[c];
    const bool is_layout = dimension.name.starts_with("layout of ") && dimension.name != "layout of q";
    EXPECT_TRUE(is_layout || text.str().find(row + " |") != std::string::npos) << row << " |";
  }
}

// Half of the calls of a domain with attributes have some, in every class: many heads, keys and dimensions, too.
TEST(AttentionCoverage, LargeCallsHaveAttributes) {
  AttentionOptions options = covering();
  options.attributes = true;
  options.domain = parse_domain(forward_attributes, true);
  std::size_t sinks = 0, softcaps = 0, biases = 0, with = 0, all = 0;
  const std::vector<AttentionCase> cases = covering_cases(options, 4);
  for (const AttentionCase& a : cases) {
    const AttentionAttributes& of = a.attributes;
    ++all;
    with += a.has_attributes() ? 1 : 0;
    sinks += !of.sinks.empty() && a.shape.heads() > 32 ? 1 : 0;
    softcaps += of.softcap != 0 && a.shape.dim > 128 ? 1 : 0;
    biases += !of.bias.empty() && a.shape.keys > 128 ? 1 : 0;
    EXPECT_TRUE(of.sinks.empty() || a.outputs < 3) << head_text(a);
  }
  EXPECT_GT(3 * with, all);
  EXPECT_GT(4 * (all - with), all);
  for (const std::size_t count : {sinks, softcaps, biases}) EXPECT_GT(count, 1u);
}

// The classes beside those of the shape.
void expect_classes(const ClassChoice& choice, const AttentionCase& a) {
  const auto chosen = [&](AttentionTrait trait) { return *choice[static_cast<std::size_t>(trait)]; };
  EXPECT_EQ(a.causal, chosen(AttentionTrait::causal) == 1);
  EXPECT_FALSE(a.attributes.top_left) << "the domain does not say so";
  EXPECT_EQ(scale_class(a.scale, a.shape.dim), chosen(AttentionTrait::scale));
  EXPECT_EQ(static_cast<std::size_t>(a.outputs), chosen(AttentionTrait::outputs) + 1);
  const std::size_t mask = chosen(AttentionTrait::mask);  // none, of each head, shared
  EXPECT_EQ(a.mask.empty(), mask == 0);
  if (mask > 0) {
    EXPECT_EQ(a.mask_for_each_head, mask == 1);
    EXPECT_EQ(mask_byte_class(a), chosen(AttentionTrait::mask_bytes)) << head_text(a);
  }
  for (std::size_t t = 0; t < attention_tensors; ++t) {
    EXPECT_EQ(layout_kind(a.layout, t), choice[static_cast<std::size_t>(AttentionTrait::layout) + t]) << t;
  }
  const NanPlace place{static_cast<NanPlace::Tensor>(chosen(AttentionTrait::nan_tensor)),
                       static_cast<NanPlace::Position>(chosen(AttentionTrait::nan_place)),
                       static_cast<NanPlace::Bits>(chosen(AttentionTrait::nan_bits))};
  EXPECT_EQ(a.nan, place.number());
}

TEST(AttentionCoverage, CasesHaveTheClassesOfTheirChoiceAndReadBack) {
  const AttentionOptions options = covering();
  const AttentionBudget budget;
  const std::vector<ClassChoice> choices = attention_choices(options, budget, 5, 1);
  const std::vector<AttentionCase> cases = covering_cases(options, 1);
  ASSERT_EQ(cases.size(), choices.size());
  for (std::size_t k = 0; k < cases.size(); ++k) {
    const AttentionCase& a = cases[k];
    ASSERT_TRUE(admits(options, a)) << head_text(a);
    EXPECT_TRUE(keeps_to(choices[k], a.shape, options, budget)) << head_text(a);
    expect_classes(choices[k], a);
    const std::string text = to_text(a);
    EXPECT_LT(text.size(), std::size_t{1} << 19) << head_text(a);  // of up to 2^20 numbers
    const AttentionCase again = read_back(a);
    EXPECT_TRUE(again.queries == a.queries && again.keys == a.keys && again.values == a.values && again.mask == a.mask)
        << head_text(a);
    EXPECT_TRUE(again.nan == a.nan && (a.mask.empty() || again.mask_byte == a.mask_byte)) << head_text(a);
  }
}

TEST(AttentionCoverage, EveryPairThatIsPossibleStandsTogether) {
  const AttentionOptions options = covering();
  const AttentionBudget budget;
  const std::vector<ClassChoice> choices = attention_choices(options, budget, 5, std::nullopt);
  EXPECT_LT(choices.size(), 400u);
  const std::vector<AttentionDimension>& dimensions = attention_dimensions();
  for (std::size_t d = 1; d < dimensions.size(); ++d) {
    for (std::size_t e = 0; e < d; ++e) {
      for (std::size_t x = 0; x < dimensions[d].classes.size(); ++x) {
        for (std::size_t y = 0; y < dimensions[e].classes.size(); ++y) {
          ClassChoice pair(dimensions.size());
          pair[d] = x;
          pair[e] = y;
          if (!is_possible(pair, options, budget)) continue;
          EXPECT_TRUE(std::ranges::any_of(choices, [&](const ClassChoice& c) { return c[d] == x && c[e] == y; }))
              << dimensions[d].name << " " << dimensions[d].classes[x] << ", " << dimensions[e].name << " "
              << dimensions[e].classes[y];
        }
      }
    }
  }
}

// Labelled full: AttentionCoverage.ADomainIsKeptAndJudgedFully
TEST(AttentionCoverage, ADomainIsKeptAndJudgedFully) {
  const KernelJudgement inside = judged(at_home("attention_correct_small_domain", home));
  EXPECT_EQ(inside.verdict, ReportVerdict::pass);
  EXPECT_GT(inside.rows, 1000u);
  // It has no entropy, which is not tried; nothing else is refused.
  for (const Coverage::Entry& entry : inside.coverage.entries()) {
    EXPECT_TRUE(entry.calls > 0 || entry.reason != "the kernel refused every call that had it") << entry.name;
  }
  const auto is_entropy = [](const std::string& text) { return text.starts_with("entropies: the kernel refuses"); };
  EXPECT_TRUE(std::ranges::any_of(inside.not_tried, is_entropy));
  // One line says how many calls were refused for it, whatever else they asked for; and a mask that no call may have
  // has no layout and no bytes that are missed.
  const auto told = [&](const std::string& begin) {
    return std::ranges::count_if(inside.refusals, [&](const std::string& text) { return text.starts_with(begin); });
  };
  EXPECT_EQ(told("refused all " + std::to_string(inside.refused) + " calls for out, lse and entropy, of "), 1);
  EXPECT_EQ(told("refused "), 1);
  EXPECT_EQ(told("not met by any call"), 0);
  // Without the words most calls are refused.
  const KernelJudgement anywhere = judged(at_home("attention_correct_small_domain", ""));
  EXPECT_EQ(anywhere.verdict, ReportVerdict::vacuous);
}

constexpr const char* listed_lengths =
    "dim=1|16|80|200 values=1|16|80 keys=1|17|65|1000 queries=1|3|17 batch=1|2 heads=1|2|6 group=1|3";

TEST(AttentionCoverage, ListedLengthsAreAllOfTheirClassesAndNoOther) {
  AttentionOptions options = covering();
  options.domain = parse_domain(listed_lengths, true);
  std::map<std::string, std::set<std::uint64_t>> met;
  const auto meet = [&](const AttentionCase& a) {
    EXPECT_TRUE(admits(options, a)) << head_text(a);
    for (const auto& [name, length] : traits_of(a).lengths) met[name].insert(length);
  };
  for (const AttentionCase& a : covering_cases(options, std::nullopt)) meet(a);
  for (const auto& [name, range] : options.domain.lengths) {
    EXPECT_EQ(std::vector<std::uint64_t>(met[name].begin(), met[name].end()), range.listed) << name;
  }
  met.clear();
  for (std::uint64_t seed = 0; seed < 200; ++seed) meet(attention_cases(options)(rc::Random(seed), 60).value());
  for (const auto& [name, range] : options.domain.lengths) {
    EXPECT_EQ(std::vector<std::uint64_t>(met[name].begin(), met[name].end()), range.listed) << name;
  }
}

TEST(AttentionCoverage, AListedCaseShrinksToListedLengths) {
  AttentionOptions options = covering();
  options.domain = parse_domain(listed_lengths, true);
  AttentionCase a;
  bool found = false;
  for (std::uint64_t seed = 0; seed < 200 && !found; ++seed) {
    a = attention_cases(options)(rc::Random(seed), 60).value();
    found = a.shape.dim == 80 && a.shape.keys == 65 && a.shape.group == 3;
  }
  ASSERT_TRUE(found);
  std::map<std::string, std::set<std::uint64_t>> met;
  auto shrinks = shrink_attention_case(a, options);
  while (const auto smaller = shrinks.next()) {
    EXPECT_TRUE(admits(options, *smaller));
    for (const auto& [name, length] : traits_of(*smaller).lengths) met[name].insert(length);
  }
  EXPECT_TRUE(met["dim"].contains(16) && met["dim"].contains(1));
  EXPECT_TRUE(met["keys"].contains(17) && met["keys"].contains(1));
  EXPECT_TRUE(met["group"].contains(1));
}

// A call of nothing fails whatever the other lengths are: the smallest case that shows it has one of each.
TEST(AttentionCoverage, ACallOfNothingFailsInItsSmallestCase) {
  KernelSubject subject = at_home("mutant_attention_zero_keys_crashes", "");
  JudgeOptions options = quick_options({"AnEmptyCallHasItsValues"});
  for (const std::uint64_t seed : {1, 2, 3}) {
    options.run.seed = seed;
    const KernelJudgement judgement = judge_kernel(subject, options);
    ASSERT_TRUE(judgement.counterexample);
    EXPECT_THAT(judgement.counterexample->case_text, HasSubstr(" batch=1 kv=1 group=1 queries=1 keys=1 "));
  }
}

TEST(AttentionCoverage, ARefusalInsideTheDomainIsAFinding) {
  const KernelJudgement judgement = judged(at_home("mutant_attention_refuses_dimension_192", home));
  EXPECT_EQ(judgement.verdict, ReportVerdict::fail);
  ASSERT_TRUE(judgement.counterexample);
  EXPECT_EQ(judgement.counterexample->failed.front().claim, "kernel.accepts");
  EXPECT_THAT(judgement.counterexample->case_text, HasSubstr(" dim=192 "));
}

TEST(AttentionRepeats, ARowIsLikeAnotherByItsNumbersItsKeysAndItsBits) {
  AttentionCase a;
  a.shape = {.batch = 1, .kv_heads = 2, .group = 1, .queries = 3, .keys = 2, .dim = 1, .value_dim = 1};
  a.queries = {1, 2, 1, 1, 2, 1};
  a.keys = {0, 1, 0, 1};
  a.values = {1, 2, 1, 2};
  std::vector<std::vector<double>> got{{5, 6, 5, 5, 6, 5.5}};
  RepeatedRows rows(a, got);
  EXPECT_FALSE(rows.repeats(0, 0, 0));
  EXPECT_FALSE(rows.repeats(0, 0, 1));
  EXPECT_TRUE(rows.repeats(0, 0, 2));
  EXPECT_TRUE(rows.repeats(0, 1, 0)) << "another head of the same numbers";
  EXPECT_TRUE(rows.repeats(0, 1, 1));
  EXPECT_FALSE(rows.repeats(0, 1, 2)) << "another result";
  a.keys[3] = 3;
  RepeatedRows other(a, got);
  EXPECT_FALSE(other.repeats(0, 0, 0) || other.repeats(0, 1, 0)) << "other keys";
  a.keys[3] = 1;
  a.causal = true;
  RepeatedRows causal(a, got);
  EXPECT_FALSE(causal.repeats(0, 0, 0) || causal.repeats(0, 0, 2)) << "other keys visible";
}

TEST(AttentionNan, EveryNumberIsAPlaceAndEveryKindANaN) {
  for (std::uint64_t number = 1; number <= 54; ++number) EXPECT_EQ(NanPlace::of(number).number(), number);
  for (const Format format : {Format::f64, Format::f32, Format::f16, Format::bf16}) {
    std::vector<std::uint64_t> seen;
    for (std::size_t kind = 0; kind < NanPlace::patterns; ++kind) {
      const std::uint64_t bits = nan_bits(format, static_cast<NanPlace::Bits>(kind));
      EXPECT_TRUE(std::isnan(numerics::decode(format, bits)));
      EXPECT_EQ(std::ranges::count(seen, bits), 0);
      seen.push_back(bits);
    }
  }
  EXPECT_EQ(nan_bits(Format::f32, NanPlace::Bits::signalling_negative), 0xffa00000u);
}

TEST(AttentionNan, ItsHeadHasOtherNumbersWhereAValueIsNan) {
  AttentionCase a;
  a.shape = {.batch = 2, .kv_heads = 2, .group = 2, .queries = 2, .keys = 4, .dim = 2, .value_dim = 1};
  a.queries.assign(32, 3);
  a.keys.assign(32, 5);
  a.values.assign(16, 7);
  std::size_t changed = 0;
  for (std::uint64_t number = 1; number <= 54; ++number) {
    a.nan = number;
    a.gradients.assign(NanPlace::of(number).tensor == NanPlace::Tensor::out_gradient ? 16 : 0, 1);
    const PoisonedCase poisoned(a);
    for (std::size_t head = 0; head < 8; ++head) {
      const auto kept = [head](const std::vector<double>& numbers, std::size_t of, double value) {
        const std::span<const double> own = std::span(numbers).subspan(of * numbers.size() / 8, numbers.size() / 8);
        return std::ranges::all_of(own, [&](double x) { return x == value || std::isnan(x); });
      };
      const bool same = kept(poisoned.attention.queries, head, 3) && kept(poisoned.attention.keys, head / 2 * 2, 5) &&
                        kept(poisoned.attention.keys, head / 2 * 2 + 1, 5);
      EXPECT_EQ(poisoned.keeps_numbers(head / 4, head % 4), same) << number << " " << head;
      changed += same ? 0 : 1;
    }
  }
  EXPECT_GT(changed, 0u);
}

using namespace numerics;

// kernel.masked_row is asked where the domain of attention has a row that sees nothing, and of a gradient as masked=
// says.

TEST(MaskedRowClaims, ADomainSaysWhetherAQueryMaySeeNothing) {
  const auto may = [](const std::string& words, bool gradient = false) {
    return may_see_nothing(parse_domain(words, true), gradient);
  };
  for (const char* words :
       {"keys>=1 nomask queries=1", "keys>=1 nomask nocausal", "keys=8 queries=8 nomask", "keys>=8 queries<=8 nomask",
        "keys>=1 nomask causal=top-left", "keys=8 queries=8 nomask window", "keys>=1 packed nocausal",
        "nomask queries=keys", "nomask causal queries<=keys"}) {
    EXPECT_FALSE(may(words)) << words;
  }
  for (const char* words : {"", "nomask", "keys>=1", "keys>=1 nomask", "keys=8 queries=9 nomask",
                            "keys=8|16 queries=8|17 nomask", "keys>=1 nomask nocausal window", "keys>=1 packed"}) {
    EXPECT_TRUE(may(words)) << words;
  }
  EXPECT_FALSE(may("keys>=1 queries>=1 nomask nocausal", true));
  EXPECT_TRUE(may("keys>=1 queries>=1 nomask causal=top-left", true));
  EXPECT_TRUE(may("keys>=1 nomask nocausal", true));
  EXPECT_FALSE(may("nomask queries=keys", true));
  EXPECT_TRUE(may("nomask queries<=keys", true));
}

// Labelled full: MaskedRowClaims.RightKernelsOfDomainsWithoutMaskedRowsPass
TEST(MaskedRowClaims, RightKernelsOfDomainsWithoutMaskedRowsPass) {
  const std::string small = " finite nomask batch>=1 batch<=2 heads>=1 heads<=4 dim>=1 dim<=8 values>=1 values<=8";
  std::vector<std::pair<Op, std::string>> asked{
      {Op::attention, "queries=1 keys>=1 keys<=32"},
      {Op::attention, "queries=8 keys=8"},
      {Op::attention_backward, "nocausal queries>=1 queries<=8 keys>=1 keys<=16"}};
  for (const auto& [op, domain] : asked) {
    const char* symbol = op == Op::attention ? "attention_correct_two_pass" : "attention_backward_correct_saved";
    const KernelJudgement judgement =
        judge_kernel(zoo_subject(symbol, {.op = op, .domain = domain + small}), quick_options({}, 8));
    EXPECT_EQ(judgement.verdict, ReportVerdict::pass) << domain;
    for (const std::string& note : judgement.notes) EXPECT_THAT(note, Not(HasSubstr("decided in no call")));
  }
}

// Calls that are made smaller so that they lie in the domain may have more queries than keys.
// Labelled full: MaskedRowClaims.RightKernelsOfFewKeysPass
TEST(MaskedRowClaims, RightKernelsOfFewKeysPass) {
  for (const char* domain : {"keys<=4", "keys=1 queries<=3", "nomask keys<=3 window"}) {
    const KernelJudgement judgement =
        judged(zoo_subject("attention_correct_attributes", {.op = Op::attention, .domain = domain}),
               {"ScoresReachTheirRange", "AFullyMaskedRowIsAsDeclared"});
    EXPECT_EQ(judgement.verdict, ReportVerdict::pass) << domain << ": " << judgement.failed_property;
  }
}

// Two causal queries of one key: the first one sees none. Under masked=uniform it weighs that key with 1, so that dv
// has its dO; its hidden score has no gradient.
TEST(MaskedRowClaims, AUniformQueryIsInTheGradientOfItsValues) {
  AttentionCase call;
  call.shape = {.queries = 2, .keys = 1};
  call.causal = true;
  call.queries = {0.5, -0.25};
  call.keys = {2};
  call.values = {3};
  call.gradients = {1, 0.75};
  const auto holds = [&](const std::string& masked, double dv, double dk = 0) {
    return broken_claims(gradient_task(Format::f32, "masked=" + masked), call, {{0, 0}, {dk}, {dv}}).empty();
  };
  EXPECT_TRUE(holds("uniform", 1.75));
  EXPECT_FALSE(holds("uniform", 0.75));
  EXPECT_FALSE(holds("uniform", 1.75, 1));
  for (const char* masked : {"nan", "zero"}) {
    EXPECT_TRUE(holds(masked, 0.75)) << masked;
    EXPECT_FALSE(holds(masked, 1.75)) << masked;
  }
  // No query sees a key: dv is the mean of dO over the keys.
  call.causal = false;
  call.mask = {0, 0};
  EXPECT_TRUE(holds("uniform", 1.75));
  EXPECT_FALSE(holds("uniform", 0));
  EXPECT_TRUE(holds("zero", 0));
}

// The same two queries and their key, packed behind a longer sequence: their weights are of their own key alone.
TEST(MaskedRowClaims, AUniformQueryOfAPackedSequenceWeighsItsOwnKeys) {
  AttentionCase call;
  call.shape = {.batch = 2, .queries = 3, .keys = 3};
  call.causal = true;
  call.sequences = {.packed = true, .queries = {0, 2}, .keys = {3, 1}};
  call.queries = {0, 0, 0, 0.5, -0.25, 0};
  call.keys = {1, 1, 1, 2, 0, 0};
  call.values = {1, 1, 1, 3, 0, 0};
  call.gradients = {0, 0, 0, 1, 0.75, 0};
  const auto holds = [&](const std::string& masked, double dv) {
    const std::vector<double> none(6);
    const AttentionTask task = gradient_task(Format::f32, "masked=" + masked);
    return broken_claims(task, call, {none, none, {0, 0, 0, dv, 0, 0}}).empty();
  };
  EXPECT_TRUE(holds("uniform", 1.75));
  EXPECT_FALSE(holds("uniform", 0.75));
  EXPECT_TRUE(holds("zero", 0.75));
  EXPECT_FALSE(holds("zero", 1.75));
}

}  // namespace
}  // namespace softcheck::proptests
