#include <gtest/gtest.h>
#include <signal.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cfenv>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <map>
#include <optional>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "proptests/tests/kernels/attention_expected.hpp"
#include "proptests/tests/kernels/loaded_kernel.hpp"
#include "proptests/tests/kernels/zoo_row.hpp"
#include "proptests/tests/numerics/bound_shares.hpp"

namespace softcheck::kernel_tests {
namespace {

namespace fs = std::filesystem;

TEST(Zoo, EveryRowNamesAKernelThatLoads) {
  const std::vector<ZooRow> rows = read_zoo();
  ASSERT_GT(rows.size(), 60u);
  std::fenv_t before;  // one of the libraries sets flush-to-zero as it loads
  std::fegetenv(&before);
  for (const ZooRow& row : rows) {
    if (row.library == "softcheck_peer_onednn" && !fs::exists(library_path(row.library))) continue;  // it is optional
    EXPECT_NE(load_kernel(row.library, row.symbol), nullptr) << row.library << ":" << row.symbol;
  }
  std::fesetenv(&before);
}

TEST(Zoo, EveryMutantHasItsRow) {
  std::set<std::string> listed;
  for (const ZooRow& row : read_zoo()) {
    listed.insert(row.library);
    listed.insert(row.symbol);
  }
  // A file may hold several, each called by its own name.
  const auto holds_a_listed_one = [&](const fs::path& file) {
    std::ifstream stream(file);
    const std::string text{std::istreambuf_iterator<char>(stream), {}};
    return std::ranges::any_of(listed, [&](const std::string& symbol) {
      return text.find("(" + symbol + ",") != std::string::npos ||
             text.find(" " + symbol + "(const softcheck_call") != std::string::npos;
    });
  };
  for (const auto& entry : fs::recursive_directory_iterator(std::string(SOFTCHECK_SOURCE_DIR) + "/kernels/zoo")) {
    if (entry.path().extension() == ".cpp") {
      const std::string stem = entry.path().stem();
      const bool is_listed = listed.contains(stem) || listed.contains("mutant_" + stem);
      EXPECT_TRUE(is_listed || listed.contains("softcheck_" + stem) || holds_a_listed_one(entry.path())) << stem;
    }
  }
}

TEST(Peers, OneDnnTakesPlainRowsAndRefusesTheRest) {
  if (!fs::exists(library_path("softcheck_peer_onednn"))) {
    GTEST_SKIP() << "oneDNN was not found when this was built";
  }
  setenv("OMP_NUM_THREADS", "1", 1);  // before its OpenMP loads: a pool of threads upsets the leak checker at exit
  const softcheck_kernel softmax = load_kernel("softcheck_peer_onednn", "softcheck_onednn_softmax");
  const softcheck_kernel log_softmax = load_kernel("softcheck_peer_onednn", "softcheck_onednn_log_softmax");
  ASSERT_NE(softmax, nullptr) << dlerror();
  ASSERT_NE(log_softmax, nullptr);
  F32 in({3, 64}, {70, 1}, 2), out({3, 64}, {}, 0, -1.0f);
  Call call(in.view, out.view);
  EXPECT_EQ(softmax(&call.call), 0);
  for (std::int64_t r = 0; r < 3; ++r) {
    // 64 equal logits: exp, sum and quotient are exact.
    EXPECT_TRUE(same_bits(out.row(r), std::vector<float>(64, 0x1p-6f)));
  }
  EXPECT_EQ(log_softmax(&call.call), 0);
  call.call.theta = 2;
  EXPECT_NE(softmax(&call.call), 0);
  call.call.theta = 1;
  Tensor<std::uint8_t> mask(mask_type, {3, 64});
  Call masked(in.view, out.view, &mask.view);
  EXPECT_NE(softmax(&masked.call), 0);
  F32 spaced({3, 64}, {200, 3});
  Call apart(spaced.view, out.view);
  EXPECT_NE(softmax(&apart.call), 0);
}

// The zoo's attention kernels by themselves: the correct ones stay within their thresholds on fixed calls, and each
// planted bug shows in at least one of them. No judge takes part.
struct AttentionRow : ZooRow {
  Format format() const { return numerics::parse_format(dtype); }
  numerics::Contract promise() const { return numerics::parse_contract(contract, format(), format()); }
  bool adaptive() const { return op == "adaptive_attention"; }
  bool correct() const { return expected == "pass"; }
  /// The fixed calls are small and of ordinary sizes, their thresholds those of contracts without stored or rounded
  /// intermediates: what else a kernel is about the judge alone sees.
  bool is_of_the_fixed_calls() const {
    const numerics::Contract promised = promise();
    numerics::Contract plain = numerics::parse_contract("", format(), format());
    plain.accumulator = promised.accumulator;
    plain.exp_error = promised.exp_error;
    plain.exp_argument_error = promised.exp_argument_error;
    plain.log_error = promised.log_error;
    plain.summation = promised.summation;
    plain.masked = promised.masked;
    plain.subnormals = promised.subnormals;
    plain.entropy = promised.entropy;
    plain.weights = promised.weights;
    const bool of_classes = property.find("EveryPairOfClassesIsComputed") != std::string::npos;
    const bool of_large_scores = property.find("ScoresReachTheirRange") != std::string::npos;
    return promised == plain && domain == "-" && effort == "-" && !of_classes && !of_large_scores;
  }
};

std::vector<AttentionRow> attention_rows() {
  std::vector<AttentionRow> rows;
  for (const ZooRow& line : read_zoo()) {
    const AttentionRow row{line};
    const bool attends = row.op == "attention" || row.op == "adaptive_attention";
    if (attends && row.is_of_the_fixed_calls()) rows.push_back(row);
  }
  return rows;
}

using Outputs = std::vector<std::vector<double>>;  // out, lse, entropy, row-major

/// What a kernel returns for a problem; nothing where it refuses. At most a second of its own time.
std::optional<Outputs> call_kernel(softcheck_kernel kernel, const AttentionProblem& p, Format format,
                                   std::uint32_t outputs) {
  PlacedInputs inputs(p, format);
  const Format wide = format == Format::f64 ? Format::f64 : Format::f32;
  const auto result = [&](const Shape& shape, const Format& of) {
    return PlacedTensor(shape, placing_of(p.layout, shape, false, false), dlpack_type(of), &of);
  };
  PlacedTensor out = result(p.out_shape(), format), lse = result(p.row_shape(), wide),
               entropy = result(p.row_shape(), wide);
  const DLTensor* in[] = {&inputs.q.view(), &inputs.k.view(), &inputs.v.view(), &inputs.mask.view()};
  DLTensor* to[] = {&out.view(), &lse.view(), &entropy.view()};
  const softcheck_call call = kernels::call_of({in, p.mask_heads > 0 ? 4u : 3u}, {to, outputs}, p.scale, p.causal);
  const itimerval second{{0, 0}, {1, 0}}, never{};
  setitimer(ITIMER_VIRTUAL, &second, nullptr);
  const int refused = kernel(&call);
  setitimer(ITIMER_VIRTUAL, &never, nullptr);
  if (refused != 0) return std::nullopt;
  Outputs results{out.read(), lse.read(), entropy.read()};
  results.resize(outputs);
  return results;
}

/// Of every query of a problem, row-major.
const std::vector<ExactQuery>& exact_queries(const AttentionRow& row, const AttentionProblem& p) {
  static std::map<std::string, std::vector<ExactQuery>> known;
  const bool paper = row.promise().entropy == numerics::EntropyForm::paper;
  std::optional<numerics::EntropyDefinition> form;
  if (row.adaptive()) form = paper ? numerics::EntropyDefinition::paper : numerics::EntropyDefinition::exact;
  const std::string key = row.op + (paper ? " paper " : " exact ") + row.dtype + ' ' + p.name;
  const auto found = known.find(key);
  if (found != known.end()) return found->second;
  std::vector<ExactQuery> list;
  for (const Query& query : queries_of(p)) list.emplace_back(p, query, form);
  return known.emplace(key, std::move(list)).first->second;
}

/// What one value must be.
struct Wanted {
  ExactQuery::Kind kind;
  Enclosure exact;
  double threshold, if_masked;
  bool has_sign = false;  // -0 and what lies below it are wrong, however near

  bool is(double got) const {
    if (kind == ExactQuery::Kind::nan) return std::isnan(got);
    if (kind == ExactQuery::Kind::masked)
      return std::isnan(if_masked) ? std::isnan(got)
                                   : got == if_masked && !std::signbit(got) == !std::signbit(if_masked);
    if (has_sign && std::signbit(got)) return false;
    return numerics::simulated::holds(got, exact, threshold);
  }
};

/// The first value that is not what it must be, or an empty text.
std::string difference(const AttentionRow& row, const AttentionProblem& p, const Outputs& got) {
  const numerics::PrecisionScope scope(113);
  const double if_masked = row.promise().masked == numerics::MaskedRows::zero ? 0 : NAN;
  const std::vector<ExactQuery>& queries = exact_queries(row, p);
  const auto dv = static_cast<std::size_t>(p.value_dim);
  std::ostringstream text;
  const auto wrong = [&](const std::string& what, double value, const Wanted& wanted) {
    if (!wanted.is(value)) {
      text << p.name << ": " << what << ": got " << value << ", exact " << wanted.exact.midpoint() << ", threshold "
           << wanted.threshold;
    }
    return !wanted.is(value);
  };
  for (std::size_t r = 0; r < queries.size(); ++r) {
    const ExactQuery& exact = queries[r];
    const bool finite = exact.kind == ExactQuery::Kind::finite;
    Thresholds thresholds{std::vector<double>(dv), 0, 0};
    if (finite) thresholds = thresholds_of(row.promise(), row.adaptive(), p, exact);
    const std::string query = " of query " + std::to_string(r);
    for (std::size_t c = 0; c < dv; ++c) {
      const Wanted wanted{exact.kind, finite ? exact.out[c] : Enclosure(0), thresholds.out[c], if_masked};
      if (wrong("column " + std::to_string(c) + query, got[0][r * dv + c], wanted)) return text.str();
    }
    const Wanted lse{exact.kind, exact.lse, thresholds.lse, -INFINITY};
    if (got.size() > 1 && wrong("lse" + query, got[1][r], lse)) return text.str();
    const Wanted entropy{exact.kind, exact.entropy, thresholds.entropy, if_masked, true};
    if (got.size() > 2 && wrong("entropy" + query, got[2][r], entropy)) return text.str();
  }
  return {};
}

/// The first difference of a kernel over all problems, the first of them with fewer outputs, too; "refused" where it
/// takes none of them.
std::string first_difference(const AttentionRow& row) {
  const softcheck_kernel kernel = load_kernel(row.library, row.symbol);
  if (kernel == nullptr) return "not there";
  bool taken = false;
  const std::vector<AttentionProblem> problems = attention_problems(row.format());
  for (const AttentionProblem& p : problems) {
    for (std::uint32_t outputs = 3; outputs > 0; --outputs) {
      const std::optional<Outputs> got = call_kernel(kernel, p, row.format(), outputs);
      if (!got) continue;
      taken = true;
      const std::string found = difference(row, p, *got);
      if (!found.empty()) return found;
      if (p.name != problems.front().name) break;
    }
  }
  return taken ? "" : "refused";
}

TEST(AttentionZoo, CorrectKernelsStayWithinTheirThresholds) {
  std::size_t kernels = 0;
  for (const AttentionRow& row : attention_rows()) {
    if (!row.correct()) continue;
    ++kernels;
    EXPECT_EQ(first_difference(row), "") << row.symbol << " " << row.dtype;
  }
  EXPECT_GE(kernels, 6u);
}

// In a process of its own, as some of them hang or crash: a word of ZOO.tsv's expected column.
std::string verdict_on(const AttentionRow& row) {
  const pid_t child = fork();
  if (child == 0) {
    // A sanitizer would turn these into an exit of its own.
    for (const int signal_number : {SIGSEGV, SIGBUS, SIGFPE}) signal(signal_number, SIG_DFL);
    const std::string found = first_difference(row);
    std::cout << row.symbol << ' ' << row.dtype << ": " << found << std::endl;
    _exit(found.empty() ? 0 : 1);
  }
  int status = 0;
  waitpid(child, &status, 0);
  if (WIFEXITED(status)) return WEXITSTATUS(status) == 0 ? "pass" : "fail";
  return WTERMSIG(status) == SIGVTALRM ? "timeout" : "crash";
}

// Labelled full: AttentionZoo.EveryPlantedBugShows
TEST(AttentionZoo, EveryPlantedBugShows) {
  std::size_t kernels = 0;
  for (const AttentionRow& row : attention_rows()) {
    // A correct kernel under a contract that it does not keep is no bug to show.
    if (!row.symbol.starts_with("mutant_")) continue;
    ++kernels;
    const std::string verdict = verdict_on(row);
    EXPECT_NE(("|" + row.expected + "|").find("|" + verdict + "|"), std::string::npos)
        << row.symbol << " " << row.dtype << ": " << verdict << ", expected " << row.expected;
  }
  EXPECT_GE(kernels, 22u);
}

}  // namespace
}  // namespace softcheck::kernel_tests
