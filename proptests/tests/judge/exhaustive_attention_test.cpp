// Exhaustive effort of attention: every product of a query and a key is a score once in each order, and one weight that
// is wrong by an ulp is found.
#include <cstdlib>
#include <cstring>
#include <memory>
#include <random>

#include "judge/exhaustive/enumerated_row.hpp"
#include "judge/exhaustive/enumeration.hpp"
#include "judge/exhaustive/exhaustive_judge.hpp"
#include "judge/exhaustive/quick_rows.hpp"
#include "numerics/enclosures/certificate.hpp"
#include "proptests/tests/judge/kernel_samples.hpp"
#include "proptests/tests/judge/row_samples.hpp"

namespace softcheck::proptests {

// Sources of this folder are compiled as one: the names below are common ones.
namespace every_score {
namespace {

using namespace numerics;

constexpr const char* contract_words = "sum=blocks:128 masked=zero subnormal=kept";

// A query's results, before they are rounded: its output, then lse and the entropy.
using Change = std::function<void(double query, std::span<const double> keys, std::vector<double>& results)>;

std::size_t extent(const DLTensor& tensor, int axis) { return static_cast<std::size_t>(tensor.shape[axis]); }

// The weights of keys of one number, whose values are rows of the identity.
std::vector<double> results_of(double query, std::span<const double> keys, double scale, std::size_t columns) {
  std::vector<double> results, scores;
  for (const double key : keys) scores.push_back(scale * (query * key));
  double maximum = scores[0], sum = 0, moment = 0;
  for (const double score : scores) maximum = std::isnan(score) || score > maximum ? score : maximum;
  for (const double score : scores) {
    const double weight = std::exp(score - maximum);
    results.push_back(weight);
    sum += weight;
    moment += weight == 0 ? 0 : weight * (maximum - score);
  }
  for (double& weight : results) weight /= sum;
  results.resize(columns, std::isnan(sum) ? sum : 0);
  results.push_back(maximum + std::log(sum));
  results.push_back(std::log(sum) + moment / sum);
  return results;
}

KernelSubject subject_of(Format format, const std::string& domain, Change change = {}, std::uint32_t most_outputs = 3) {
  const auto kernel = [=](const softcheck_call* call) {
    if (call->n_outputs > most_outputs) return 1;
    const DLTensor &q = *call->inputs[0], &k = *call->inputs[1], &out = *call->outputs[0];
    const std::size_t dim = extent(q, 3), columns = extent(out, 3);
    std::vector<double> keys;
    for (std::size_t j = 0; j < extent(k, 2); ++j) keys.push_back(number_at(k, format, j * dim));
    for (std::size_t r = 0; r < extent(q, 2); ++r) {
      const double query = number_at(q, format, r * dim);
      std::vector<double> results = results_of(query, keys, call->scale, columns);
      if (change) change(query, keys, results);
      for (std::size_t c = 0; c < columns; ++c) put_at(out, format, r * columns + c, results[c]);
      for (std::size_t o = 1; o < call->n_outputs; ++o) {
        put_at(*call->outputs[o], Format::f32, r, results[columns + o - 1]);
      }
    }
    return 0;
  };
  return own_subject(kernel, {Op::attention, format, contract_words, domain});
}

std::vector<std::unique_ptr<Enumeration>> enumerated(Format format, const std::string& domain,
                                                     std::vector<std::string>& skipped) {
  return enumerations_of(subject_of(format, domain), {}, skipped);
}

// The bits of all queries and keys of a block.
std::vector<std::uint64_t> bits_of(const Enumeration& scores, std::uint64_t block, std::size_t each) {
  std::vector<std::byte> bytes(scores.numbers(block) * each);
  scores.fill(block, bytes);
  std::vector<std::uint64_t> all(scores.numbers(block));
  for (std::size_t i = 0; i < all.size(); ++i) std::memcpy(&all[i], &bytes[i * each], each);
  return all;
}

TEST(ExhaustiveScores, EnumeratesEveryPairInBothOrders) {
  std::vector<std::string> skipped;
  const auto all = enumerated(Format::e5m2, "", skipped);
  EXPECT_TRUE(skipped.empty());
  ASSERT_EQ(all.size(), 3u);
  for (std::size_t k = 0; k < all.size(); ++k) {
    std::set<std::pair<std::uint64_t, std::uint64_t>> met;
    for (std::uint64_t block = 0; block < all[k]->blocks(); ++block) {
      const std::vector<std::uint64_t> bits = bits_of(*all[k], block, 1);
      const std::size_t rows = all[k]->rows(block), columns = all[k]->shape(block).columns;
      ASSERT_EQ(columns, 16u);
      EXPECT_TRUE(k == 2 || bits[k == 0 ? rows : rows + columns - 1] == 0) << all[k]->name();
      for (std::size_t r = 0; r < rows; ++r) {
        for (std::size_t j = rows; j < bits.size(); ++j) met.insert({bits[r], bits[j]});
      }
    }
    // Six NaNs of 256 patterns and two infinities, in whose place 0 stands. Each NaN as a key has keys of 1 beside it.
    EXPECT_EQ(met.size(), k < 2 ? 254u * 248u : 254u * 7u) << all[k]->name();
  }
  EXPECT_EQ(all[0]->name(),
            "every e5m2 query with every finite key, d = 1, scale = 1, 15 neighbouring keys behind one of 0");
}

TEST(ExhaustiveScores, LeavesOutWhatF32HasNoNumberFor) {
  std::vector<std::string> skipped;
  const auto all = enumerated(Format::bf16, "", skipped);
  std::uint64_t left_out = 0, queries = 0;
  for (std::uint64_t block = 0; block < all[0]->blocks(); block += 1009) {
    const std::size_t rows = all[0]->rows(block);
    const std::vector<std::uint64_t> bits = bits_of(*all[0], block, 2);
    double largest = 0;
    for (std::size_t j = rows; j < bits.size(); ++j) {
      largest = std::fmax(largest, std::fabs(numerics::decode(Format::bf16, bits[j])));
    }
    for (std::size_t r = 0; r < rows; ++r) {
      const double query = numerics::decode(Format::bf16, block % 17 * 3856 + r);
      const bool fits = std::isnan(query) || std::fabs(query) * largest <= std::numeric_limits<float>::max();
      EXPECT_EQ(bits[r], fits && !std::isinf(query) ? block % 17 * 3856 + r : 0);
      left_out += fits ? 0 : 1;
      ++queries;
    }
  }
  EXPECT_GT(left_out * 10, queries);
  EXPECT_LT(left_out * 5, queries);
}

// The number of the format next to where the threshold of a weight ends: the last one within it, or the first beyond.
double at_the_edge(const KernelSubject& subject, double query, std::span<const double> keys, std::size_t item,
                   bool beyond) {
  const RowShape shape{RowKind::any, keys.size(), 1, true, 1, keys.size(), 1};
  std::vector<double> numbers{query}, got = results_of(query, keys, 1, keys.size());
  numbers.insert(numbers.end(), keys.begin(), keys.end());
  for (std::size_t c = 0; c < keys.size(); ++c) {
    got[c] = numerics::decode(subject.contract.input, numerics::encode(subject.contract.input, got[c]));
  }
  const auto holds = [&] {
    const RowOpinion opinion = opinion_of(subject.op, subject.contract, {shape, {}, {}, numbers, got});
    return std::ranges::all_of(opinion.findings,
                               [](const ValueFinding& finding) { return finding.decision == Decision::proved; });
  };
  std::uint64_t bits = numerics::encode(subject.contract.input, got[item]);
  while (holds()) got[item] = numerics::decode(subject.contract.input, ++bits);
  return numerics::decode(subject.contract.input, beyond ? bits : bits - 1);
}

// A weight of one pair at the end of its threshold, or an ulp beyond it, in calls whose key of 0 comes first or last,
// or in both.
Change at_one_pair(const KernelSubject& plain, double q, double k, bool beyond, std::optional<bool> zero_first) {
  return [=](double query, std::span<const double> keys, std::vector<double>& results) {
    const auto place = std::ranges::find(keys, k);
    if (query != q || place == keys.end() || (keys.front() == 0) != zero_first.value_or(keys.front() == 0)) return;
    const auto item = static_cast<std::size_t>(place - keys.begin());
    results[item] = at_the_edge(plain, query, keys, item, beyond);
  };
}

// Labelled full: ExhaustiveScores.FindsAnUlpTooMuchAtOnePairOfAMillion
TEST(ExhaustiveScores, FindsAnUlpTooMuchAtOnePairOfAMillion) {
  for (const Format format : {Format::f16, Format::bf16}) {
    const KernelSubject plain = subject_of(format, "");
    const double q = -1.25, k = numerics::decode(format, numerics::encode(format, 0.75) + 3);
    const JudgeOptions options = exhaustive_options(numerics::encode(format, q) - 5, 8);
    const KernelSubject within = subject_of(format, "finite", at_one_pair(plain, q, k, false, std::nullopt));
    const ExhaustiveJudgement holds = judge_exhaustively(within, options);
    EXPECT_EQ(holds.judgement.verdict, ReportVerdict::pass);
    EXPECT_GT(holds.judgement.rows, 2u * 8u * 4200u);
    for (const bool zero_first : {true, false}) {
      const Change wrong = at_one_pair(plain, q, k, true, zero_first);
      const ExhaustiveJudgement judged = judge_exhaustively(subject_of(format, "finite", wrong), options);
      EXPECT_EQ(judged.judgement.verdict, ReportVerdict::fail);
      EXPECT_EQ(judged.statements.size(), zero_first ? 1u : 2u);
      ASSERT_TRUE(judged.judgement.counterexample);
      const Counterexample& found = *judged.judgement.counterexample;
      EXPECT_EQ(found.failed.front().claim, "kernel.attention.output");
      EXPECT_THAT(found.case_text, HasSubstr("q " + numerics::hex_float(q) + " k "));
      const std::string property = judged.judgement.failed_property;
      const KernelJudgement again =
          replay_kernel(subject_of(format, "", wrong), property, found.case_text, judge_options(Effort::quick));
      EXPECT_EQ(again.verdict, ReportVerdict::fail);
    }
  }
}

TEST(ExhaustiveScores, FindsItAmongAllPairsOfOurOwn) {
  if (effort_from_environment() != Effort::deep) GTEST_SKIP() << "takes minutes: SOFTCHECK_EFFORT=deep";
  const KernelSubject plain = subject_of(Format::bf16, "");
  for (const bool beyond : {true, false}) {
    KernelSubject subject = plain;
    subject.source.callable = [&plain, beyond](const softcheck_call* call) {
      static const auto kernel = loaded_kernel(library_path("softcheck_cpu_kernels"), "softcheck_attention");
      const int returned = kernel(call);
      const DLTensor &q = *call->inputs[0], &k = *call->inputs[1];
      std::vector<double> keys;
      for (std::size_t j = 0; j < extent(k, 2); ++j) keys.push_back(number_at(k, Format::bf16, j));
      const auto place = std::ranges::find(keys, 0x1.04p-1);
      for (std::size_t r = 0; place != keys.end() && r < extent(q, 2); ++r) {
        if (number_at(q, Format::bf16, r) != -0x1.1p+1) continue;
        const auto item = static_cast<std::size_t>(place - keys.begin());
        const double wrong = at_the_edge(plain, -0x1.1p+1, keys, item, beyond);
        put_at(*call->outputs[0], Format::bf16, r * extent(*call->outputs[0], 3) + item, wrong);
      }
      return returned;
    };
    const ExhaustiveJudgement judged = judge_exhaustively(subject, judge_options(Effort::exhaustive));
    EXPECT_EQ(judged.judgement.verdict, beyond ? ReportVerdict::fail : ReportVerdict::pass);
  }
}

TEST(ExhaustiveScores, FindsOneLogSumExpAndOneEntropy) {
  const std::uint64_t first = numerics::encode(Format::bf16, 3.0);
  for (const std::size_t output : {1, 2}) {
    const auto wrong = [=](double query, std::span<const double> keys, std::vector<double>& results) {
      const bool met = query == 3.0 && std::ranges::find(keys, -0.25) != keys.end();
      if (met) results[keys.size() + output - 1] *= 1 + 0x1p-10;
    };
    const ExhaustiveJudgement judged =
        judge_exhaustively(subject_of(Format::bf16, "finite", wrong), exhaustive_options(first, 3));
    EXPECT_EQ(judged.judgement.verdict, ReportVerdict::fail) << output;
    ASSERT_TRUE(judged.judgement.counterexample);
    EXPECT_EQ(judged.judgement.counterexample->failed.front().claim,
              output == 1 ? "kernel.attention.lse" : "kernel.attention.entropy");
  }
}

TEST(ExhaustiveScores, FindsOneNanPayloadOfAQueryAndOfAKey) {
  for (const bool of_query : {true, false}) {
    const auto wrong = [=](double query, std::span<const double> keys, std::vector<double>& results) {
      const auto nan = std::ranges::find_if(keys, [](double key) { return std::isnan(key); });
      const double met = of_query ? query : nan == keys.end() ? 0 : *nan;
      if (std::isnan(met) && numerics::encode(Format::e5m2, met) == 0xfe && (of_query || query == 2)) {
        for (double& one : results) one = 0.0625;
      }
    };
    const ExhaustiveJudgement judged =
        judge_exhaustively(subject_of(Format::e5m2, "", wrong), exhaustive_options(0, 256));
    EXPECT_EQ(judged.judgement.verdict, ReportVerdict::fail) << of_query;
    ASSERT_TRUE(judged.judgement.counterexample);
    EXPECT_EQ(judged.judgement.counterexample->failed.front().claim, "kernel.nan_row");
    EXPECT_EQ(judged.statements.size(), of_query ? 1u : 3u);
  }
}

TEST(ExhaustiveScores, EightBitsHoldWholeAndSoDoWiderCalls) {
  for (const char* domain : {"", "dim=64 scale=1/sqrt(dim) values=64 queries=32k keys=32k", "keys=7 queries=1|100"}) {
    const ExhaustiveJudgement judged =
        judge_exhaustively(subject_of(Format::e4m3, domain), judge_options(Effort::exhaustive));
    EXPECT_EQ(judged.judgement.verdict, ReportVerdict::pass) << domain;
    EXPECT_EQ(judged.statements.size(), 3u) << domain;
    EXPECT_GT(judged.statements.front().share, 0.4);
    EXPECT_LE(judged.statements.front().share, 1);
  }
}

TEST(ExhaustiveScores, AKernelMayReturnOutAlone) {
  const ExhaustiveJudgement judged =
      judge_exhaustively(subject_of(Format::e4m3, "", {}, 1), judge_options(Effort::exhaustive));
  EXPECT_EQ(judged.judgement.verdict, ReportVerdict::pass);
  EXPECT_EQ(judged.judgement.refused, 2u);
  EXPECT_EQ(judged.judgement.errors.size(), 1u);
}

TEST(ExhaustiveScores, SaysWhatADomainLeavesOut) {
  for (const auto& [domain, reason] : std::vector<std::pair<std::string, std::string>>{
           {"heads>=2 group=1", "scores: the domain has no heads=1"},
           {"packed", "scores: the domain has packed sequences or pages in every call"},
           {"scale=1/sqrt(dim) dim=96", "scores: the domain has no dim to 4096 whose scale is a power of two"},
           {"values<=8", "scores: the domain has no values between its keys and 4096"}}) {
    std::vector<std::string> skipped;
    EXPECT_TRUE(enumerated(Format::f16, domain, skipped).empty()) << domain;
    EXPECT_EQ(skipped, std::vector{reason});
  }
}

TEST(ExhaustiveScores, NarrowsACrashDownToItsQuery) {
  const auto crashes = [](double query, std::span<const double> keys, std::vector<double>&) {
    if (query == 1.5 && keys[1] > 0) std::abort();
  };
  const ExhaustiveJudgement judged =
      judge_exhaustively(subject_of(Format::e4m3, "", crashes), exhaustive_options(0, 256));
  EXPECT_EQ(judged.judgement.verdict, ReportVerdict::crash);
  ASSERT_TRUE(judged.judgement.counterexample);
  EXPECT_THAT(judged.judgement.counterexample->case_text, HasSubstr("q 0x1.8p+0 k 0x0p+0"));
}

TEST(ExhaustiveScores, RefusesWideFormatsAndAdaptiveAttention) {
  const auto message_of = [](Op op, Format format) {
    return refusal_of([&] { require_enumerable(zoo_subject("", {op, format})); });
  };
  EXPECT_EQ(message_of(Op::attention, Format::bf16), "not refused");
  EXPECT_EQ(message_of(Op::attention, Format::f32),
            "effort: exhaustive needs f16, bf16, e4m3 or e5m2 of attention, got f32, whose queries and keys have 2^64 "
            "products");
  EXPECT_EQ(message_of(Op::adaptive_attention, Format::bf16),
            "effort: exhaustive needs one of the ops softmax, log_softmax, logsumexp, entropy, attention, got "
            "adaptive_attention");
}

}  // namespace
}  // namespace every_score

// The quick test of exhaustive effort: what it proves is within the contract's own threshold.

// Sources of this folder are compiled as one: the names below are common ones.
namespace quick_rows {
namespace {

using namespace numerics;

// A row of a shape with its lowest item at about x: neighbours in f32, equal logits and one, or anything.
std::vector<double> row_of(const RowShape& shape, float x, std::mt19937_64& random) {
  std::vector<double> row(shape.columns, 0.0);
  switch (shape.kind) {
    case RowKind::pairs:
      row[1] = x;
      break;
    case RowKind::beside_maximum:
      for (std::size_t k = 0; k + 1 < row.size(); ++k) {
        row[shape.maximum_first ? k + 1 : k] = x;
        x = std::nextafterf(x, -1e30F);
      }
      break;
    case RowKind::odd_one:
      row.back() = x;
      break;
    case RowKind::any:
      for (double& logit : row) logit = static_cast<float>(std::uniform_real_distribution<double>(x, 3)(random));
      break;
  }
  return row;
}

struct Rows {
  std::vector<double> logits, within, beyond;
  std::size_t count = 0;
};

// Values in the middle, but one of each row: at a part of its threshold, and at the first number beyond it.
Rows rows_of(Op op, const Contract& contract, const RowShape& shape) {
  std::mt19937_64 random(20241001);
  Rows rows;
  for (; rows.count < 150; ++rows.count) {
    const double exponent = std::uniform_real_distribution<double>(-35, 6.3)(random);
    const std::vector<double> row = row_of(shape, -static_cast<float>(std::exp2(exponent)), random);
    const auto [lower, upper, allowed] = RowBounds(op, contract, row, shape.theta);
    const std::size_t count = lower.size();
    const std::size_t changed = rows.count % count;
    for (std::size_t i = 0; i < count; ++i) {
      const double side = rows.count % 3 == 0 && lower[i] > allowed[i] ? -1 : 1;
      double edge = (side > 0 ? upper[i] : lower[i]) + side * allowed[i];
      for (int step = 0; step < 2; ++step) edge = std::nextafter(edge, side * 1e300);
      rows.within.push_back(i == changed ? lower[i] + side * 0.75 * allowed[i] : lower[i]);
      rows.beyond.push_back(i == changed ? edge : lower[i]);
    }
    rows.logits.insert(rows.logits.end(), row.begin(), row.end());
  }
  return rows;
}

// most_open   of the rows within: coefficients above 1 are left to enclosures, too
void expect_sound(Op op, const std::string& words, const RowShape& shape, std::size_t most_open) {
  const Contract contract = numerics::parse_contract(words, Format::f32, Format::f32);
  QuickRows quick(*op.rows().arguments(), contract, shape);
  const Rows rows = rows_of(op, contract, shape);
  const std::string what = std::string(to_string(op)) + " n=" + std::to_string(shape.columns) + " " + words;
  EXPECT_EQ(quick.judge(rows.logits, rows.beyond).open.size(), rows.count) << what;
  EXPECT_LE(quick.judge(rows.logits, rows.within).open.size(), most_open) << what;
}

TEST(QuickRows, LeavesOpenWhatIsBeyondAThreshold) {
  for (const Op op : {Op::softmax, Op::log_softmax, Op::logsumexp, Op::entropy}) {
    for (const std::string words :
         {"subnormal=kept", "exp=E:4,A:3 sum=tree subnormal=kept", "theta=before lse=uncentred"}) {
      expect_sound(op, words, {RowKind::pairs, 2, 1, true}, 8);
      expect_sound(op, words, {RowKind::beside_maximum, 65, 1, true}, 8);
      expect_sound(op, words, {RowKind::beside_maximum, 65, 0.7, false}, 8);
      // All rows have the threshold of the least of them.
      expect_sound(op, words, {RowKind::any, 3, 1, true}, 150);
      if (op->one_value_per_row) expect_sound(op, words, {RowKind::odd_one, 100, 1, true}, 8);
    }
  }
}

}  // namespace
}  // namespace quick_rows

}  // namespace softcheck::proptests
