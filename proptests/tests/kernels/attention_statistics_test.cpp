// The statistics of attention's scores, of the CPU's kernel and of the body for GPUs on the emulator, against
// enclosures, and the largest score that each attention kernel gives as its fourth result. (The strict mode has the
// emulated ones' bits: proptests/tests/emulator/.)
#include <gtest/gtest.h>

#include <deque>

#include "proptests/tests/kernels/attention_expected.hpp"
#include "proptests/tests/kernels/loaded_kernel.hpp"
#include "proptests/tests/numerics/bound_shares.hpp"

namespace softcheck::kernel_tests {
namespace {

constexpr double statistics_infinity = std::numeric_limits<double>::infinity();

/// Results of one number a query, row-major.
using Rows = std::vector<double>;

softcheck_kernel kernel_of(const std::string& machine, const std::string& op) {
  return load_kernel("softcheck_" + machine + "_kernels",
                     machine == "cpu" ? "softcheck_" + op : "softcheck_" + machine + "_" + op);
}

Format wide_of(Format format) { return format == Format::f64 ? Format::f64 : Format::f32; }

/// What a call on a problem gives beside out, where that is wanted: numbers of queries in the call's order, of these
/// formats; nothing where it is refused.
std::optional<std::vector<Rows>> results_in(softcheck_kernel kernel, const AttentionProblem& p, Format format,
                                            bool with_out, const std::vector<Format>& of_rows) {
  PlacedInputs in(p, format);
  PlacedTensor out(p.out_shape(), placing_of(p.layout, p.out_shape(), false, false), dlpack_type(format), &format);
  std::deque<PlacedTensor> rows;
  std::vector<DLTensor*> outputs;
  if (with_out) outputs.push_back(&out.view());
  for (const Format& one : of_rows) {
    rows.emplace_back(p.row_shape(), placing_of(p.layout, p.row_shape(), false, false), dlpack_type(one), &one);
    outputs.push_back(&rows.back().view());
  }
  std::vector<const DLTensor*> inputs = {&in.q.view(), &in.k.view()};
  if (with_out) inputs.push_back(&in.v.view());
  if (p.mask_heads > 0) inputs.push_back(&in.mask.view());
  if (!takes_call(kernel, inputs, outputs, p.scale, p.causal)) return std::nullopt;
  std::vector<Rows> results;
  for (const PlacedTensor& tensor : rows) results.push_back(tensor.read());
  return results;
}

/// The first so many, in the wide format.
std::vector<Rows> results_of(softcheck_kernel kernel, const AttentionProblem& p, Format format, bool with_out,
                             std::size_t count) {
  const auto results = results_in(kernel, p, format, with_out, std::vector(count, wide_of(format)));
  EXPECT_TRUE(results) << p.name;
  return results.value_or(std::vector(count, Rows(static_cast<std::size_t>(p.batch * p.heads * p.queries), -7)));
}

/// Of a kernel of statistics, whose name is op.
numerics::Contract contract_of(const std::string& machine, const std::string& op, Format format) {
  const std::string words = machine == "cpu"        ? "sum=blocks:128"
                            : op.starts_with("mma") ? "sum=lanes:16"
                                                    : "sum=lanes:512";
  return numerics::parse_contract(
      (format == Format::f64 ? "acc=f64 " : "acc=f32 ") + words + " exp=1ulp masked=zero subnormal=kept", format,
      wide_of(format));
}

/// Of a query's scores.
struct Expected {
  enum class Kind { nan, masked, finite } kind = Kind::masked;
  Enclosure maximum, sums, deviations, squares;
  Moments moments;
  double score_error = 0;

  Expected(const numerics::Contract& contract, const AttentionProblem& p, const Query& query) {
    if (std::ranges::find(query.visible, 1) == query.visible.end()) return;
    kind = query.holds_nan ? Kind::nan : Kind::finite;
    if (query.holds_nan) return;
    const auto n = static_cast<std::size_t>(p.keys), dv = static_cast<std::size_t>(p.value_dim);
    const numerics::AttentionOracle oracle({query.query, query.keys, query.values, dv, p.scale, query.visible, n});
    maximum = oracle.maximum();
    sums = Enclosure(-1);
    for (std::size_t j = 0; j < n; ++j) {
      if (!oracle.scores().is_visible(j)) continue;
      const Enclosure d = maximum - oracle.scores().logit(j), w = exp(-d);
      sums += w;
      deviations += w * d;
      squares += w * d * d;
      moments.add(std::max(d.upper_double(), 0.0));
    }
    const numerics::AttentionArithmetic arithmetic{query.query.size(), p.scale, contract.accumulator, 0};
    for (const UpperBound& e : score_errors(contract, arithmetic, query)) {
      score_error = std::max(score_error, upper(e));
    }
  }
};

/// The enclosure's own width is granted.
bool near(double got, const Enclosure& exact, double bound) {
  return numerics::simulated::holds(got, exact, bound + (exact.upper_double() - exact.lower_double()));
}

std::vector<Expected> expected_of(const numerics::Contract& contract, const AttentionProblem& p) {
  std::vector<Expected> all;
  for (const Query& query : queries_of(p)) all.emplace_back(contract, p, query);
  return all;
}

class AttentionStatistics : public testing::TestWithParam<std::tuple<const char*, Format>> {
 protected:
  const std::string machine = std::get<0>(GetParam());
  const Format format = std::get<1>(GetParam());
  const bool has_tensor_cores = machine == "emulated" && numerics::properties(format).storage_bits == 16;
  const numerics::PrecisionScope precision{256};
};

/// m, S - 1, T and U of a query, got by a kernel of that contract.
void expect_within_errors(const numerics::Contract& contract, const Expected& of, const std::vector<double>& got) {
  if (of.kind == Expected::Kind::nan) {
    EXPECT_TRUE(std::ranges::all_of(got, [](double x) { return std::isnan(x); }));
  } else if (of.kind == Expected::Kind::masked) {
    EXPECT_EQ(got, (std::vector{-statistics_infinity, -1.0, 0.0, 0.0}));
  } else {
    const auto bound = [&](int k, double moment) {
      return moment_error(contract, of.moments, k, moment) + moved_by_scores(of.moments, k, of.score_error);
    };
    EXPECT_TRUE(near(got[0], of.maximum, of.score_error)) << "m = " << got[0];
    EXPECT_TRUE(near(got[1], of.sums, bound(0, of.moments.sum() - 1))) << "S - 1 = " << got[1];
    EXPECT_TRUE(near(got[2], of.deviations, bound(1, of.moments.of[1]))) << "T = " << got[2];
    EXPECT_TRUE(near(got[3], of.squares, bound(2, of.moments.of[2]))) << "U = " << got[3];
  }
}

TEST_P(AttentionStatistics, AreWithinTheirErrors) {
  std::vector<std::string> ops = {"attention_statistics"};
  if (has_tensor_cores) ops.push_back("mma_attention_statistics");
  for (const std::string& op : ops) {
    const numerics::Contract contract = contract_of(machine, op, format);
    for (const AttentionProblem& p : attention_problems(format)) {
      const std::vector<Rows> got = results_of(kernel_of(machine, op), p, format, false, 4);
      const std::vector<Expected> wanted = expected_of(contract, p);
      for (std::size_t row = 0; row < wanted.size(); ++row) {
        SCOPED_TRACE(op + ", " + p.name + ", query " + std::to_string(row));
        expect_within_errors(contract, wanted[row], {got[0][row], got[1][row], got[2][row], got[3][row]});
      }
    }
  }
}

TEST_P(AttentionStatistics, EachAttentionKernelTellsTheLargestScore) {
  std::vector<std::string> ops = {"attention", "adaptive_attention"};
  if (machine == "emulated") {
    ops.insert(ops.end(), {"split_attention", "split_adaptive_attention"});
    if (has_tensor_cores) {
      ops.insert(ops.end(), {"mma_attention", "mma_adaptive_attention"});
    }
  }
  for (const AttentionProblem& p : attention_problems(format)) {
    const Rows scores = results_of(kernel_of(machine, "attention_statistics"), p, format, false, 1)[0];
    const std::vector<Expected> wanted = expected_of(contract_of(machine, "mma", format), p);
    for (const std::string& op : ops) {
      const Rows got = results_of(kernel_of(machine, op), p, format, true, 3)[2];
      for (std::size_t row = 0; row < wanted.size(); ++row) {
        const Expected& of = wanted[row];
        const bool by_tensor_cores = op.starts_with("mma_") && of.kind == Expected::Kind::finite;
        EXPECT_TRUE(by_tensor_cores ? near(got[row], of.maximum, of.score_error)
                                    : got[row] == scores[row] || (std::isnan(got[row]) && std::isnan(scores[row])))
            << op << ", " << p.name << ", query " << row << ": " << got[row];
      }
    }
  }
}

/// Queries of one number against 140 keys that are 0.5, the last ten 1.
AttentionProblem with_queries(const std::vector<double>& q) {
  AttentionProblem p;
  p.name = "numbers";
  p.queries = static_cast<std::int64_t>(q.size());
  p.keys = 140;
  p.q = q;
  p.k.assign(140, 0.5);
  p.v.assign(140, 1);
  std::fill_n(p.k.begin() + 130, 10, 1.0);
  return p;
}

/// The statistics of scores, the first so many, and the largest score as each attention kernel gives it.
std::vector<Rows> with_largest_scores(const std::string& machine, const AttentionProblem& p, Format format,
                                      std::size_t count) {
  std::vector<Rows> got = results_of(kernel_of(machine, "attention_statistics"), p, format, false, count);
  for (const char* op : {"attention", "adaptive_attention"}) {
    got.push_back(results_of(kernel_of(machine, op), p, format, true, 3)[2]);
  }
  return got;
}

// A score of +inf leaves no statistics; one of -inf is a key that is not seen.
TEST_P(AttentionStatistics, OfInfiniteScores) {
  AttentionProblem p = with_queries({1, statistics_infinity, -statistics_infinity});
  p.k[7] = -1;  // query 1: +inf of all keys but this one; query 2: of this one alone
  for (const Rows& row : with_largest_scores(machine, p, format, 4)) {
    EXPECT_FALSE(std::isnan(row[0]));
    EXPECT_TRUE(std::isnan(row[1]) && std::isnan(row[2]));
  }
  p.k[7] = 0.5;
  EXPECT_EQ(results_of(kernel_of(machine, "attention_statistics"), p, format, false, 4)[1][2], -1);
}

// Which of two zeros is the larger one depends on the machine. Products of 0 add to 0, which the scale makes -0.
TEST_P(AttentionStatistics, ALargestScoreOfZeroHasNoSign) {
  AttentionProblem p = with_queries({0.0, -0.0});
  p.scale = -1;
  for (const Rows& row : with_largest_scores(machine, p, format, 1)) {
    for (const double m : row) EXPECT_TRUE(m == 0 && !std::signbit(m));
  }
}

// In the inputs' own format: the wide ones rounded. Of two formats at once: for GPUs refused.
TEST_P(AttentionStatistics, AreRoundedToTheInputsFormat) {
  const softcheck_kernel kernel = kernel_of(machine, "attention_statistics");
  const AttentionProblem p = with_queries({1, 3.5, 9});
  const std::vector<Rows> wide = results_of(kernel, p, format, false, 4);
  const auto own = results_in(kernel, p, format, false, std::vector(4, format));
  ASSERT_TRUE(own);
  for (std::size_t i = 0; i < 4; ++i) {
    for (std::size_t row = 0; row < 3; ++row) {
      EXPECT_EQ((*own)[i][row], numerics::round_to(format, wide[i][row])) << "result " << i;
    }
  }
  if (format == wide_of(format)) return;
  for (std::size_t narrow = 0; narrow < 4; ++narrow) {
    std::vector<Format> mixed(4, wide_of(format));
    mixed[narrow] = format;
    const auto got = results_in(kernel, p, format, false, mixed);
    EXPECT_EQ(got.has_value(), machine == "cpu") << "result " << narrow;
    if (got) {
      EXPECT_EQ((*got)[narrow], (*own)[narrow]);
    }
  }
}

// What a block holds a query in.
TEST_P(AttentionStatistics, OfLongerQueriesThanABlockHoldsAreRefusedForGpus) {
  AttentionProblem p = with_queries({1});
  for (const std::int64_t dim : {1024, 1025}) {
    p.dim = dim;
    p.q.assign(static_cast<std::size_t>(dim), 0.25);
    p.k.assign(static_cast<std::size_t>(dim * p.keys), 0.25);
    const auto got = results_in(kernel_of(machine, "attention_statistics"), p, format, false, {wide_of(format)});
    ASSERT_EQ(got.has_value(), machine == "cpu" || dim == 1024);
    if (got) {
      EXPECT_EQ((*got)[0][0], 0.0625 * static_cast<double>(dim));
    }
  }
}

INSTANTIATE_TEST_SUITE_P(OfAMachine, AttentionStatistics,
                         testing::Combine(testing::Values("cpu", "emulated"),
                                          testing::Values(Format::f32, Format::f64, Format::f16, Format::bf16)),
                         [](const auto& of) {
                           return std::get<0>(of.param) + std::string("_") +
                                  std::string(numerics::properties(std::get<1>(of.param)).name);
                         });

}  // namespace
}  // namespace softcheck::kernel_tests
