// Exhaustive effort: every argument is there once, and one that is wrong by an ulp is found.
#include <bit>
#include <cstdlib>

#include "judge/exhaustive/enumerated_row.hpp"
#include "judge/exhaustive/enumeration.hpp"
#include "judge/exhaustive/exhaustive_judge.hpp"
#include "proptests/tests/judge/row_samples.hpp"

namespace softcheck::proptests {
// Sources of this folder are compiled as one: the names below are common ones.
namespace every_argument {
namespace {

using namespace numerics;

// What a row's values are changed to; by default they stay.
using Change = std::function<void(std::span<const double> logits, double theta, std::vector<double>& values)>;

// softmax, or whatever else of one row: in double, each value rounded once to the output.
std::vector<double> values_of(Op op, std::span<const double> logits, double theta) {
  double maximum = -infinity, sum = 0, moment = 0;
  for (const double x : logits) maximum = std::isnan(x) ? x : x > maximum ? x : maximum;
  std::vector<double> values;
  for (const double x : logits) {
    const double weight = std::exp((x - maximum) / theta);
    sum += weight;
    moment += weight == 0 ? 0 : weight * ((maximum - x) / theta);
    values.push_back(weight);
  }
  const bool is_nan = std::isnan(sum) || std::isinf(maximum);
  if (op == Op::logsumexp) return {maximum == -infinity ? maximum : is_nan ? nan : maximum / theta + std::log(sum)};
  if (op == Op::entropy) return {is_nan ? nan : std::log(sum) + moment / sum};
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (op == Op::softmax) values[i] = is_nan ? nan : values[i] / sum;
    if (op == Op::log_softmax) values[i] = is_nan ? nan : (logits[i] - maximum) / theta - std::log(sum);
  }
  return values;
}

KernelSubject subject_of(Op op, Format format, const std::string& domain, Change change = {},
                         const std::string& contract = "sum=tree masked=nan subnormal=kept") {
  const Format output = output_format(op, format);
  const auto kernel = [=](const softcheck_call* call) {
    const DLTensor &in = *call->inputs[0], &out = *call->outputs[0];
    const auto rows = static_cast<std::size_t>(in.shape[0]), n = static_cast<std::size_t>(in.shape[1]);
    std::vector<double> logits(n);
    for (std::size_t r = 0, place = 0; r < rows; ++r) {
      for (std::size_t i = 0; i < n; ++i) logits[i] = number_at(in, format, r * n + i);
      std::vector<double> values = values_of(op, logits, call->theta);
      if (change) change(logits, call->theta, values);
      for (const double value : values) put_at(out, output, place++, value);
    }
    return 0;
  };
  return own_subject(kernel, {op, format, contract, domain});
}

// The number of f32 next to where the threshold of item i ends: within, or the first one beyond.
double at_the_edge(const KernelSubject& subject, const std::vector<double>& row, double theta, std::size_t i,
                   bool beyond) {
  const auto [lower, upper, allowed] = RowBounds(subject.op, subject.contract, row, theta);
  const double edge = lower[i] + allowed[i];
  auto number = static_cast<float>(edge);
  while (number > edge) number = std::nextafterf(number, -1e30F);
  while (static_cast<double>(number) <= edge) number = std::nextafterf(number, 1e30F);
  // number is the first above the edge.
  return beyond ? std::nextafterf(number, 1e30F) : std::nextafterf(std::nextafterf(number, -1e30F), -1e30F);
}

constexpr std::uint64_t bits_of_one = 0x3f80'0000;

// An argument of the block from -1 down, not at any block's, row's or vector's edge.
const double odd_argument = -static_cast<double>(std::bit_cast<float>(std::uint32_t{0x3f80'3a7b}));

ReportVerdict verdict_with(const std::string& domain, double theta, Op op, bool beyond, std::string* told = nullptr) {
  KernelSubject subject = subject_of(op, Format::f32, domain);
  const KernelSubject plain = subject;
  subject = subject_of(
      op, Format::f32, domain,
      [plain, beyond, wanted = theta](std::span<const double> logits, double at, std::vector<double>& values) {
        const auto place = std::ranges::find(logits, odd_argument);
        if (at != wanted || place == logits.end()) return;
        const std::size_t i = values.size() == 1 ? 0 : static_cast<std::size_t>(place - logits.begin());
        values[i] = at_the_edge(plain, {logits.begin(), logits.end()}, at, i, beyond);
      });
  const ExhaustiveJudgement judged = judge_exhaustively(subject, exhaustive_options(bits_of_one, 1 << 15));
  if (told != nullptr && judged.judgement.counterexample) *told = judged.judgement.counterexample->case_text;
  return judged.judgement.verdict;
}

TEST(Exhaustive, FindsAnUlpTooMuchAtOneArgument) {
  for (const Op op : {Op::softmax, Op::log_softmax, Op::logsumexp, Op::entropy}) {
    std::string told;
    EXPECT_EQ(verdict_with("n=2 theta=1", 1, op, true, &told), ReportVerdict::fail) << to_string(op);
    EXPECT_EQ(told, "row f32 theta=0x1p+0 0x0p+0 -0x1.0074f6p+0") << to_string(op);
    EXPECT_EQ(verdict_with("n=2 theta=1", 1, op, false), ReportVerdict::pass) << to_string(op);
  }
}

TEST(Exhaustive, FindsItInLongRowsAndAtAnotherTemperature) {
  for (const double theta : {1.0, 0.7}) {
    EXPECT_EQ(verdict_with("n=65", theta, Op::softmax, true), ReportVerdict::fail) << theta;
    EXPECT_EQ(verdict_with("n=65", theta, Op::softmax, false), ReportVerdict::pass) << theta;
  }
}

// Our own softmax, but for the one argument: at the speed of a kernel.
ReportVerdict verdict_among(const ArgumentRange& range, bool beyond, std::uint64_t& rows) {
  KernelSubject subject =
      subject_of(Op::softmax, Format::f32, "n=2 theta=1", {}, "exp=1ulp sum=blocks:32 masked=nan subnormal=kept");
  const auto wrong = static_cast<float>(at_the_edge(subject, {0, odd_argument}, 1, 1, beyond));
  subject.source.callable = [wrong](const softcheck_call* call) {
    static const auto kernel = loaded_kernel(library_path("softcheck_cpu_kernels"), "softcheck_softmax");
    const int returned = kernel(call);
    each_compact_row(*call, [=](std::span<const float> logits, std::span<float> values) {
      if (logits[1] == static_cast<float>(odd_argument)) values[1] = wrong;
    });
    return returned;
  };
  JudgeOptions options = judge_options(Effort::exhaustive);
  options.arguments = range;
  const ExhaustiveJudgement judged = judge_exhaustively(subject, options);
  rows = judged.judgement.rows;
  return judged.judgement.verdict;
}

TEST(Exhaustive, FindsItAmongAMillionOfOurOwn) {
  std::uint64_t rows = 0;
  const ArgumentRange range{bits_of_one - (1 << 19), bits_of_one + (1 << 19)};
  EXPECT_EQ(verdict_among(range, true, rows), ReportVerdict::fail);
  EXPECT_LT(rows, 1u << 20);
  EXPECT_EQ(verdict_among(range, false, rows), ReportVerdict::pass);
  EXPECT_EQ(rows, 1u << 20);
}

TEST(Exhaustive, FindsItAmongAllArguments) {
  if (effort_from_environment() != Effort::deep) GTEST_SKIP() << "takes minutes: SOFTCHECK_EFFORT=deep";
  std::uint64_t rows = 0;
  EXPECT_EQ(verdict_among({}, true, rows), ReportVerdict::fail);
  EXPECT_EQ(verdict_among({}, false, rows), ReportVerdict::pass);
}

TEST(Exhaustive, FindsOnePairInOneOrder) {
  // bf16 3.5 and 3.515625: the second row of the four first patterns.
  constexpr std::uint64_t first = 0x4060, other = 0x4061;
  const double a = numerics::decode(Format::bf16, first + 1), b = numerics::decode(Format::bf16, other - 7);
  for (const bool swapped : {false, true}) {
    const auto wrong = [=](std::span<const double> logits, double, std::vector<double>& values) {
      if (logits[0] == (swapped ? b : a) && logits[1] == (swapped ? a : b)) values[1] *= 1 + 0x1p-6;
    };
    const KernelSubject subject = subject_of(Op::softmax, Format::bf16, "n=2", wrong);
    // Only one of the two orders begins with a pattern of the range.
    const ExhaustiveJudgement judged = judge_exhaustively(subject, exhaustive_options(first, 4));
    EXPECT_EQ(judged.judgement.verdict, swapped ? ReportVerdict::pass : ReportVerdict::fail);
    EXPECT_EQ(judged.statements.at(0).rows, 4u << 16);
  }
}

TEST(Exhaustive, FindsOneNanPayloadAndOneInfinity) {
  const auto ignores = [](std::uint64_t payload) {
    return [=](std::span<const double> logits, double, std::vector<double>& values) {
      if (numerics::encode(Format::bf16, logits[0]) != 0x4060) return;
      if (std::isnan(logits[1]) && payload == 0x7fc1) values[0] = 1;
      if (logits[1] == -infinity && payload == 0xff80) values[1] = -0.0;
      if (logits[1] == infinity && payload == 0x7f80) values[0] = 0.5;
    };
  };
  for (const auto& [payload, claim] : std::map<std::uint64_t, std::string>{
           {0x7fc1, "kernel.nan_row"}, {0xff80, "kernel.softmax.element"}, {0x7f80, "kernel.infinite_row"}, {0, ""}}) {
    const ExhaustiveJudgement judged = judge_exhaustively(
        subject_of(Op::softmax, Format::bf16, "n=2", ignores(payload)), exhaustive_options(0x4060, 1));
    EXPECT_EQ(judged.judgement.verdict, claim.empty() ? ReportVerdict::pass : ReportVerdict::fail) << payload;
    if (claim.empty()) continue;
    ASSERT_TRUE(judged.judgement.counterexample) << payload;
    EXPECT_EQ(judged.judgement.counterexample->failed.front().claim, claim);
  }
}

TEST(Exhaustive, FindsOneTripleOfEightBits) {
  const auto wrong = [](std::span<const double> logits, double, std::vector<double>& values) {
    if (logits.size() == 3 && logits[0] == 1 && logits[1] == -2 && logits[2] == 0.5) values[2] = 0.5;
  };
  const std::uint64_t one = numerics::encode(Format::e4m3, 1);
  EXPECT_EQ(judge_exhaustively(subject_of(Op::softmax, Format::e4m3, "", wrong), exhaustive_options(one - 1, 2))
                .judgement.verdict,
            ReportVerdict::fail);
  EXPECT_EQ(
      judge_exhaustively(subject_of(Op::softmax, Format::e4m3, ""), exhaustive_options(one - 1, 2)).judgement.verdict,
      ReportVerdict::pass);
}

TEST(Exhaustive, MeasuresTheLeastExponential) {
  // 16 u more than exact at one argument: B2 grants 4 E + 6.3 u there, to first order, so that E = 2.5 is the least of
  // the words that allows it.
  const auto wrong = [](std::span<const double> logits, double, std::vector<double>& values) {
    if (logits[1] == odd_argument) values[1] *= 1 + 0x1p-20;
  };
  const ExhaustiveJudgement judged = judge_exhaustively(
      subject_of(Op::softmax, Format::f32, "n=2 theta=1", wrong, "exp=16ulp sum=tree subnormal=kept"),
      exhaustive_options(bits_of_one, 1 << 15));
  EXPECT_EQ(judged.judgement.verdict, ReportVerdict::pass);
  EXPECT_EQ(judged.statements.at(0).exponential_at, "row f32 theta=0x1p+0 0x0p+0 -0x1.0074f6p+0");
  EXPECT_EQ(judged.statements.at(0).least_exponential, "exp=1.25ulp");
  EXPECT_EQ(judged.statements.at(0).worst, "row f32 theta=0x1p+0 0x0p+0 -0x1.0074f6p+0");
}

TEST(Exhaustive, NarrowsACrashDownToItsRow) {
  const auto crashes = [](std::span<const double> logits, double, std::vector<double>&) {
    if (logits[1] == odd_argument) std::abort();
  };
  const ExhaustiveJudgement judged = judge_exhaustively(subject_of(Op::softmax, Format::f32, "n=2 theta=1", crashes),
                                                        exhaustive_options(bits_of_one, 1 << 15));
  EXPECT_EQ(judged.judgement.verdict, ReportVerdict::crash);
  ASSERT_TRUE(judged.judgement.counterexample);
  EXPECT_EQ(judged.judgement.counterexample->case_text, "row f32 theta=0x1p+0 0x0p+0 -0x1.0074f6p+0");
  EXPECT_EQ(judged.judgement.counterexample->size, 2u);
}

TEST(Exhaustive, RefusesOtherOps) {
  EXPECT_EQ(
      refusal_of([] { require_enumerable(zoo_subject("", {.op = Op::sparsemax})); }),
      "effort: exhaustive needs one of the ops softmax, log_softmax, logsumexp, entropy, attention, got sparsemax");
}

// All logits of an enumeration, row by row.
std::vector<std::vector<double>> rows_of(const Enumeration& rows, Format format) {
  std::vector<std::vector<double>> all;
  for (std::uint64_t block = 0; block < rows.blocks(); ++block) {
    const RowShape shape = rows.shape(block);
    const std::size_t count = rows.rows(block);
    std::vector<std::byte> bytes(count * shape.columns *
                                 static_cast<std::size_t>(numerics::properties(format).storage_bits) / 8);
    std::vector<double> logits(count * shape.columns);
    rows.fill(block, bytes);
    decode_all(format, bytes, logits);
    for (std::size_t r = 0; r < count; ++r) {
      const auto begin = logits.begin() + static_cast<std::ptrdiff_t>(r * shape.columns);
      all.emplace_back(begin, begin + static_cast<std::ptrdiff_t>(shape.columns));
    }
  }
  return all;
}

std::vector<std::unique_ptr<Enumeration>> enumerated(Op op, Format format, const std::string& domain,
                                                     const ArgumentRange& range) {
  std::vector<std::string> skipped;
  return enumerations_of(subject_of(op, format, domain), range, skipped);
}

TEST(Exhaustive, EnumeratesEveryArgumentOnce) {
  // The last ones of all, and not a multiple of anything.
  const ArgumentRange last{0x7f80'0000 - 70'003, std::numeric_limits<std::uint64_t>::max()};
  for (const ArgumentRange& range : {last, ArgumentRange{0, 70'001}}) {
    for (const auto& rows : enumerated(Op::softmax, Format::f32, "", range)) {
      std::set<float> met;
      for (const std::vector<double>& row : rows_of(*rows, Format::f32)) {
        EXPECT_EQ(std::ranges::max(row), 0);
        for (const double x : row) met.insert(static_cast<float>(x));
      }
      // -0 and 0 are one of the set; the maximum is in every row.
      EXPECT_EQ(met.size(), range.first == 0 ? 70'001u : 70'004u) << rows->name();
      EXPECT_EQ(*met.begin(), range.first == 0 ? -0x1.1170p-133F : -std::numeric_limits<float>::max()) << rows->name();
    }
  }
  // Pairs end where no weight is left.
  const auto all = enumerated(Op::softmax, Format::f32, "n=2 theta=1", {});
  EXPECT_EQ(all.front()->name(),
            "every f32 x from -0x0p+0 down to -0x1.9feb86p+6 beside a maximum of 0, n = 2, theta = 1");
}

TEST(Exhaustive, EnumeratesEveryPairInBothOrders) {
  const auto pairs = enumerated(Op::softmax, Format::e5m2, "n=2", {});
  std::set<std::pair<std::uint64_t, std::uint64_t>> met;
  for (std::uint64_t block = 0; block < pairs.front()->blocks(); ++block) {
    std::vector<std::byte> bytes(pairs.front()->rows(block) * 2);
    pairs.front()->fill(block, bytes);
    for (std::size_t r = 0; r < bytes.size(); r += 2) {
      met.insert({static_cast<std::uint64_t>(bytes[r]), static_cast<std::uint64_t>(bytes[r + 1])});
    }
  }
  EXPECT_EQ(met.size(), 65536u);
  EXPECT_EQ(rows_of(*enumerated(Op::softmax, Format::bf16, "n=2", {0xfffe, 0x10000}).front(), Format::bf16).size(),
            2u << 16);
}

TEST(Exhaustive, EnumeratesEverySumOnce) {
  const auto all = enumerated(Op::logsumexp, Format::f32, "n=256", {bits_of_one, bits_of_one + 1});
  std::set<float> sums;
  for (const std::vector<double>& row : rows_of(*all.back(), Format::f32)) {
    double sum = 0;
    for (const double x : row) sum += std::exp(x);
    sums.insert(static_cast<float>(sum));
  }
  // 2^23 numbers of f32 in [128, 256), hence 2^16 from one whole number to the next.
  EXPECT_EQ(sums.size(), 65536u);
  EXPECT_GT(*sums.begin(), 255);
  EXPECT_EQ(*sums.rbegin(), 256);
}

}  // namespace
}  // namespace every_argument
}  // namespace softcheck::proptests
