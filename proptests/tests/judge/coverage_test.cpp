// What a pass speaks of: every class of calls is met, refusals are explained, and a domain is judged to its edges.
#include <fstream>
#include <regex>
#include <sstream>

#include "judge/call/refusals.hpp"
#include "proptests/generators/domains/domain.hpp"
#include "proptests/generators/row_matrices/row_matrix_classes.hpp"
#include "proptests/tests/judge/kernel_samples.hpp"

namespace softcheck::proptests {
namespace {

using namespace numerics;

/// One call of compact f32 logits.
struct Logits {
  const float* first;
  std::int64_t rows, n;
  double theta;
  bool masked, compact;

  explicit Logits(const softcheck_call& call)
      : first(numbers_of(*call.inputs[0])),
        rows(call.inputs[0]->shape[0]),
        n(call.inputs[0]->shape[1]),
        theta(call.theta),
        masked(call.n_inputs > 1),
        compact(is_compact(*call.inputs[0]) && is_compact(*call.outputs[0])) {}
  static bool is_compact(const DLTensor& tensor) {
    const bool side_by_side =
        tensor.strides == nullptr || (tensor.strides[1] == 1 && tensor.strides[0] == tensor.shape[1]);
    return side_by_side && tensor.byte_offset == 0;
  }
  bool all(bool (*holds)(float)) const { return std::all_of(first, first + rows * n, holds); }
};

void softmax(const softcheck_call& call) { each_compact_row(call, softmax_in_double); }

using Kernel = std::function<int(const softcheck_call*)>;

/// A softmax at theta 1 that takes what takes(logits) says.
template <class Takes>
Kernel kernel_that(Takes takes) {
  return [takes](const softcheck_call* call) {
    const Logits logits(*call);
    if (logits.masked || !logits.compact || logits.theta != 1 || !takes(logits)) return 1;
    softmax(*call);
    return 0;
  };
}

KernelJudgement judged_in(const Kernel& kernel, const std::string& domain = "", Effort effort = Effort::quick) {
  return judge_kernel(own_subject(kernel, {.domain = domain}), judge_options(effort));
}

bool is_aligned(const Logits& logits) {
  const auto is_finite = [](float x) { return std::isfinite(x); };
  return logits.n % 16 == 0 && logits.n > 0 && logits.n <= 8192 && logits.rows > 0 && logits.all(is_finite);
}

// Labelled full: Coverage.AtDefaultEffortEveryClassIsMet
TEST(Coverage, AtDefaultEffortEveryClassIsMet) {
  const KernelJudgement judgement = judge_kernel(cpu_subject("softcheck_softmax"), judge_options(Effort::normal));
  EXPECT_EQ(judgement.verdict, ReportVerdict::pass) << joined(judgement.notes);
  const std::vector<Coverage::Entry> entries = judgement.coverage.entries();
  EXPECT_GT(entries.size(), 90u);
  for (const Coverage::Entry& entry : entries) {
    EXPECT_GT(entry.calls, 0u) << entry.dimension << ": " << entry.name << " " << entry.reason;
  }
}

// A dtype without infinity is sent none: its bits would be those of a NaN.
TEST(Coverage, NoCallInE4m3HasAnInfinity) {
  const KernelJudgement judgement = judged(cpu_subject("softcheck_softmax", {.format = Format::e4m3}));
  EXPECT_EQ(judgement.verdict, ReportVerdict::pass) << joined(judgement.notes);
  std::size_t classes = 0;
  for (const Coverage::Entry& entry : judgement.coverage.entries()) {
    if (entry.name.find("inf") == std::string::npos) continue;
    ++classes;
    EXPECT_EQ(entry.calls + entry.refused, 0u) << entry.dimension << ": " << entry.name;
  }
  EXPECT_GE(classes, 2u);
}

// "| rows | 1, 2 to 3, ... |" for each dimension: what the page promises is what the test above requires.
TEST(Coverage, TheClassesAreThoseOfThePage) {
  std::ifstream page(SOFTCHECK_SOURCE_DIR "/docs/kernels/calls.md");
  std::stringstream text;
  text << page.rdbuf();
  for (const MatrixDimension& dimension : matrix_dimensions()) {
    std::string row = "| " + dimension.name + " | ";
    for (std::size_t c = 0; c < dimension.classes.size(); ++c) row += (c == 0 ? "" : "; ") + dimension.classes[c];
    EXPECT_THAT(text.str(), HasSubstr(row + " |")) << row << " |";
  }
}

TEST(Refusals, AreExplainedByTheFewestWords) {
  const KernelJudgement judgement = judged_in(kernel_that(is_aligned));
  EXPECT_EQ(judgement.verdict, ReportVerdict::vacuous);
  const std::string notes = joined(judgement.notes);
  EXPECT_THAT(notes, HasSubstr("n=16k"));
  EXPECT_THAT(notes, AllOf(HasSubstr(" calls: "), HasSubstr("masks"), HasSubstr("theta != 1"), HasSubstr("strides")));
  EXPECT_THAT(notes, HasSubstr("to judge it where it refuses none: softcheck::conforms(kernel, \"softmax f32 on "));
}

TEST(Refusals, InsideADomainAreExplainedByWordsMore) {
  const Kernel aligned = kernel_that([](const Logits& logits) { return logits.n % 16 == 0 && logits.n <= 8192; });
  const KernelJudgement judgement = judged_in(aligned, "compact nomask finite theta=1");
  EXPECT_EQ(judgement.verdict, ReportVerdict::fail);
  const std::string notes = joined(judgement.notes);
  // The words of lengths are as narrow as the accepted calls, which the seed draws; the words that were given follow.
  std::smatch domain;
  ASSERT_TRUE(std::regex_search(notes, domain, std::regex("where it refuses none: .* on ([^\"]*)\""))) << notes;
  const std::string words = domain[1];
  EXPECT_THAT(words, testing::EndsWith(" theta=1 compact finite nomask"));
  const LengthRange n = parse_domain(words, false).length("n");
  EXPECT_EQ(n.multiple, 16u) << words;
  EXPECT_GT(n.most, 4096u) << words;
  EXPECT_LE(n.most, 8192u) << words;
}

CallTraits attention_call(std::uint64_t queries, std::uint64_t keys) {
  CallTraits call;
  call.lengths = {{"heads", 4}, {"group", 1}, {"queries", queries}, {"keys", keys}};
  return call;
}

TEST(Refusals, AreToldInTheWordsOfAReader) {
  RefusalLog log;
  EXPECT_EQ(log.in_words(), "");
  for (const std::uint64_t keys : {3, 4, 5}) {
    CallTraits call = attention_call(4, keys);
    log.add(call, false);
    call.causal = true;
    log.add(call, keys != 4);
    call.masked = true;
    log.add(call, true);
    call = attention_call(4, keys);
    call.lengths["group"] = 2;
    log.add(call, true);
  }
  EXPECT_EQ(log.in_words(), "masks, grouped heads, causal with queries != keys");
  log.add(attention_call(4, 5), true);  // as one that was taken
  EXPECT_EQ(log.in_words(), "masks, grouped heads, causal with queries != keys and 1 other");
  // Without the calls that no word keeps, the kernel can be judged.
  const auto explanation = log.explanation();
  ASSERT_TRUE(explanation.has_value());
  EXPECT_TRUE(explanation->unexplained.has_value());
}

TEST(Refusals, OfCausalCallsThatAreNotSquareLeaveADomainOfSquareOnes) {
  RefusalLog log;
  for (std::uint64_t keys = 1; keys <= 9; ++keys) {
    CallTraits call = attention_call(4, keys);
    log.add(call, false);
    call.causal = true;
    log.add(call, keys != 4);
    call = attention_call(9 + keys, 9 + keys);
    call.causal = true;
    log.add(call, false);
  }
  const auto explanation = log.explanation();
  ASSERT_TRUE(explanation.has_value());
  EXPECT_EQ(to_string(explanation->domain), "queries=keys");
  EXPECT_EQ(explanation->lost, 8u);  // "nocausal" would lose 10
}

TEST(Refusals, OfResultsAloneAreNoRefusalsOfCalls) {
  const softcheck_kernel attention = loaded_kernel(library_path("softcheck_cpu_kernels"), "softcheck_attention");
  const KernelSubject subject =
      own_subject([attention](const softcheck_call* call) { return call->n_outputs > 1 ? 1 : attention(call); },
                  {Op::attention, Format::f32, "acc=f32 exp=1ulp sum=blocks:128 masked=zero subnormal=kept",
                   "compact nomask nocausal keys<=9 queries<=9"});
  const KernelJudgement judgement = judged(subject, {"EveryValueLiesWithinItsThreshold"});
  EXPECT_THAT(judgement.notes, ::testing::Contains("returns none of: lse, entropy"));
  EXPECT_THAT(joined(judgement.notes), Not(HasSubstr("refused ")));
  EXPECT_THAT(joined(judgement.refusals), HasSubstr("for out and lse"));
}

// Words of attributes and listed lengths stay: a domain without them admits other calls.
TEST(Refusals, TheWordsOfTheDomainAreKept) {
  const Domain within = parse_domain("heads=1|2|4|8 keys=3k window", true);
  RefusalLog log;
  for (const std::uint64_t heads : {1, 2, 4, 8}) {
    for (std::uint64_t keys = 3; keys <= 60; keys += 3) {
      CallTraits call;
      call.lengths = {{"heads", heads}, {"group", 1}, {"keys", keys}};
      call.window = true;
      log.add(call, heads > 2 || keys % 2 != 0);
    }
  }
  EXPECT_EQ(log.refused(), 60u);
  const auto explanation = log.explanation(within);
  ASSERT_TRUE(explanation.has_value());
  EXPECT_FALSE(explanation->unexplained.has_value());
  EXPECT_EQ(explanation->domain, parse_domain("heads=1|2 keys=6k window", true)) << to_string(explanation->domain);
}

// Refused unless heads are single, but for one key head that all share: no word has both.
TEST(Refusals, WhereNoWordsTellThemApartTheDomainLosesFewCalls) {
  RefusalLog grouped;
  for (std::uint64_t heads = 1; heads <= 6; ++heads) {
    for (const std::uint64_t group : {1, 2}) {
      CallTraits call;
      call.lengths = {{"heads", group * heads}, {"group", group}};
      grouped.add(call, group > 1 && heads > 1);
    }
  }
  const auto explanation = grouped.explanation();
  ASSERT_TRUE(explanation.has_value());
  EXPECT_EQ(to_string(explanation->domain), "group<=1");
  EXPECT_EQ(explanation->lost, 1u);
  EXPECT_FALSE(explanation->unexplained.has_value());
  // No word keeps half of the calls that were taken.
  RefusalLog thirds;
  for (std::uint64_t n = 1; n <= 30; ++n) {
    CallTraits call;
    call.lengths = {{"n", n}};
    thirds.add(call, n % 3 == 0);
  }
  ASSERT_TRUE(thirds.explanation().has_value());
  EXPECT_EQ(thirds.explanation()->unexplained.value().lengths.at("n"), 3u);
}

constexpr const char* aligned_domain = "n=16k n>=16 n<=8192 rows>=1 theta=1 compact nooffset finite nomask";

// Labelled full: DomainOfAKernel.InsideItIsJudgedFully
TEST(DomainOfAKernel, InsideItIsJudgedFully) {
  const KernelJudgement judgement = judged_in(kernel_that(is_aligned), aligned_domain, Effort::normal);
  EXPECT_EQ(judgement.verdict, ReportVerdict::pass) << joined(judgement.notes);
  EXPECT_EQ(judgement.refused, 0u);
  EXPECT_GT(judgement.rows, 3000u);
  for (const Coverage::Entry& entry : judgement.coverage.unmet()) {
    ADD_FAILURE() << entry.dimension << ": " << entry.name;
  }
}

TEST(DomainOfAKernel, ARefusalInsideItIsAFinding) {
  const Kernel hole = kernel_that([](const Logits& logits) { return is_aligned(logits) && logits.n != 48; });
  const KernelJudgement judgement = judged_in(hole, aligned_domain);
  EXPECT_EQ(judgement.verdict, ReportVerdict::fail);
  ASSERT_TRUE(judgement.counterexample);
  EXPECT_EQ(judgement.counterexample->failed[0].claim, "kernel.accepts");
  EXPECT_EQ(judgement.counterexample->size % 48, 0u);
}

TEST(DomainOfAKernel, WhatFailsInsideItShrinksInsideIt) {
  const Kernel wrong = [](const softcheck_call* call) {
    softmax(*call);
    const std::int64_t n = call->inputs[0]->shape[1];
    if (n > 100) numbers_of(*call->outputs[0])[n - 1] *= 2;
    return 0;
  };
  const KernelJudgement judgement = judged_in(wrong, aligned_domain);
  EXPECT_EQ(judgement.verdict, ReportVerdict::fail);
  ASSERT_TRUE(judgement.counterexample);
  EXPECT_EQ(judgement.counterexample->size, 112u) << judgement.counterexample->case_text;
}

constexpr const char* listed_domain = "n=1|3|17|64|600|1000 rows=3|513 theta=1 compact nooffset nomask";

TEST(DomainOfAKernel, OfListedLengthsEveryOneIsJudged) {
  std::set<std::pair<std::int64_t, std::int64_t>> shapes;
  // Called in this process, so that it can count.
  const auto counting = [&](const softcheck_call* call) {
    shapes.emplace(call->inputs[0]->shape[0], call->inputs[0]->shape[1]);
    softmax(*call);
    return ForwardedEnd{};
  };
  const KernelJudgement judgement = judged(forwarded_subject(counting, {.domain = listed_domain}));
  EXPECT_EQ(judgement.verdict, ReportVerdict::pass) << joined(judgement.notes);
  EXPECT_TRUE(judgement.coverage.unmet().empty());
  std::set<std::pair<std::int64_t, std::int64_t>> all;
  for (const std::int64_t n : {1, 3, 17, 64, 600, 1000}) {
    for (const std::int64_t rows : {3, 513}) all.emplace(rows, n);
  }
  EXPECT_TRUE(std::ranges::includes(all, shapes));
  for (const auto& [rows, n] : all) {
    // 513 rows of 600 or more are beyond what a call of quick effort holds.
    EXPECT_TRUE(rows * n > (1 << 17) || shapes.contains({rows, n})) << rows << " rows of " << n;
  }
}

// Wrong at one length or at one number of rows of those that are listed.
TEST(DomainOfAKernel, OfListedLengthsOneWrongOneIsFoundAndShrinksToTheSmallest) {
  const auto smallest = [](const std::function<bool(const Logits&)>& hit) {
    const auto wrong = [hit](const softcheck_call* call) {
      softmax(*call);
      const Logits logits(*call);
      if (hit(logits)) numbers_of(*call->outputs[0])[logits.n * logits.rows - 1] += 1;
      return 0;
    };
    const KernelJudgement judgement = judged_in(wrong, listed_domain);
    EXPECT_EQ(judgement.verdict, ReportVerdict::fail);
    return judgement.counterexample ? judgement.counterexample->size : 0;
  };
  EXPECT_EQ(smallest([](const Logits& logits) { return logits.n == 600; }) % 600, 0u);
  EXPECT_EQ(smallest([](const Logits& logits) { return logits.rows == 513; }), 513u);
  EXPECT_EQ(smallest([](const Logits& logits) { return logits.n >= 10; }), 51u);
}

TEST(Undecided, RefusingEveryRowWithANanIsNoPass) {
  const KernelJudgement judgement =
      judged_in(kernel_that([](const Logits& logits) { return logits.all([](float x) { return !std::isnan(x); }); }));
  EXPECT_EQ(judgement.verdict, ReportVerdict::vacuous);
  ASSERT_FALSE(judgement.notes.empty());
  EXPECT_EQ(judgement.notes[0], "kernel.nan_row was decided in no call");
}

TEST(Undecided, RefusingWhatANaiveExponentialCannotDoIsNoPass) {
  const KernelJudgement judgement = judged_in(kernel_that([](const Logits& logits) {
    return logits.all([](float x) { return std::isnan(x) || std::isinf(x) || std::fabs(x) < 80; });
  }));
  EXPECT_EQ(judgement.verdict, ReportVerdict::vacuous);
  EXPECT_THAT(joined(judgement.notes), HasSubstr("values of the kind 'sharp' was refused"));
}

}  // namespace
}  // namespace softcheck::proptests
