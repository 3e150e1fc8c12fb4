// Every row of the zoo - planted bugs, correct kernels of all kinds, and ours - gets its verdict, and
// every planted bug by the property it is for.
#include <unistd.h>

#include <filesystem>
#include <iostream>
#include <sstream>

#include "proptests/tests/judge/zoo_rows.hpp"

namespace softcheck::proptests {
namespace {

namespace fs = std::filesystem;

bool is_one_of(const std::string& word, const std::string& alternatives) {
  return std::ranges::count(split(alternatives, '|'), word) > 0;
}

// Planted bugs must die at every effort; a deep run looks longer at the kernels that must not.
JudgeOptions options_for(const ZooRow& row) {
  const Effort asked = effort_from_environment();
  const Effort least = row.needs_effort() ? parse_effort(row.effort) : Effort::quick;
  JudgeOptions options =
      judge_options(std::max(row.is_planted() && asked == Effort::deep ? Effort::normal : asked, least));
  options.run = options_from_environment(options.run);
  options.run.shrinks = 300;  // enough for 8 logits; each of a row of 65,537 costs as much as a case
  if (row.is_planted() && row.property != "-" && (row.needs_effort() || asked != Effort::deep)) {
    // What it is for is enough: a deep run shows by which other properties it dies.
    options.only = split(row.property, '|');
  }
  if (row.is_planted() && row.needs_effort()) options.run.shrinks = 40;
  // Whoever is to hang need not be waited for; a right kernel of eight threads needs seconds on a loaded machine.
  options.limits.seconds_per_call = is_one_of("timeout", row.expected) ? 2 : 60;
  return options;
}

std::string sentence_of(const std::string& property) { return property.substr(property.find('.') + 1); }

// What the matrix is made of: the verdict, the size of the witness, and the properties that did not hold.
struct Judged {
  std::string verdict;
  std::size_t witness = 0;
  std::vector<std::string> failed;
  std::vector<std::string> run;

  std::string line() const {
    std::string text = verdict + '\t' + std::to_string(witness) + '\t';
    for (const std::string& property : run) text += property + ' ';
    text += '\t';
    for (const std::string& property : failed) text += property + ' ';
    return text;
  }
  static Judged of(const KernelJudgement& judgement) {
    Judged result;
    result.verdict = to_string(judgement.verdict);
    if (judgement.counterexample) result.witness = judgement.counterexample->size;
    for (const PropertyFinding& property : judgement.properties) {
      result.run.push_back(sentence_of(property.name));
      if (property.verdict != ReportVerdict::pass) result.failed.push_back(sentence_of(property.name));
    }
    return result;
  }
  static Judged read(const std::string& line) {
    const std::vector<std::string> fields = split(line + '\t', '\t');
    Judged result;
    result.verdict = fields.at(0);
    result.witness = std::stoul(fields.at(1));
    result.run = split(fields.at(2), ' ');
    if (fields.size() > 3) result.failed = split(fields.at(3), ' ');
    return result;
  }
};

// A test of one kernel and the test of the matrix run in processes of their own: what the first found is kept in a file
// for the second, so that no kernel is judged twice. Kept from an older kernel, judge or seed it does not count.
fs::path record_of(const ZooRow& row) {
  const JudgeOptions options = options_for(row);
  return fs::path(SOFTCHECK_ZOO_DIR) /
         (row.name() + "." + std::to_string(options.run.seed) + "." + std::to_string(options.run.cases));
}

bool is_recent(const fs::path& record, const ZooRow& row) {
  if (!fs::exists(record)) return false;
  const auto made = fs::last_write_time(record);
  return made > fs::last_write_time(row.path()) && made > fs::last_write_time("/proc/self/exe") &&
         made > fs::last_write_time(SOFTCHECK_KERNEL_DIR "/ZOO.tsv");
}

void keep(const ZooRow& row, const Judged& judged) {
  const fs::path record = record_of(row);
  fs::create_directories(record.parent_path());
  const fs::path unfinished = record.string() + "." + std::to_string(getpid());
  std::ofstream(unfinished) << judged.line() << '\n';
  fs::rename(unfinished, record);
}

Judged kept_or_judged(const ZooRow& row) {
  const fs::path record = record_of(row);
  if (is_recent(record, row)) {
    std::ifstream file(record);
    std::string line;
    std::getline(file, line);
    return Judged::read(line);
  }
  Judged judged = Judged::of(judge_kernel(subject_of(row), options_for(row)));
  keep(row, judged);
  return judged;
}

std::string story_of(const KernelJudgement& judgement) {
  std::string story;
  if (judgement.counterexample) {
    story = judgement.failed_property + " on " + std::to_string(judgement.counterexample->size) +
            " logits: " + judgement.counterexample->case_text;
    for (const auto& failed : judgement.counterexample->failed) {
      story += "\n  " + failed.claim + ": " + failed.left.to_string() + " <= " + failed.right.to_string() + " " +
               failed.witness;
    }
  }
  for (const std::string& note : judgement.notes) story += "\n  note: " + note;
  return story;
}

// Whether a planted bug died of what it is for: of its property, and there of its claim.
::testing::AssertionResult killed_by_its_property(const ZooRow& row, const KernelJudgement& judgement) {
  std::string seen;
  for (const PropertyFinding& property : judgement.properties) {
    if (!property.outcome.counterexample || !is_one_of(sentence_of(property.name), row.property)) continue;
    for (const auto& failed : property.outcome.counterexample->failed) {
      if (is_one_of(failed.claim, row.claim)) return ::testing::AssertionSuccess();
      seen += " " + failed.claim;
    }
  }
  return ::testing::AssertionFailure() << row.property << " does not fail by " << row.claim << ", but by:" << seen;
}

class ZooTest : public ::testing::Test {
 public:
  explicit ZooTest(const ZooRow& row) : row_(row) {}
  void TestBody() override {
    if (!fs::exists(row_.path())) GTEST_SKIP() << row_.library << " was not built here";
    if (row_.needs_another_processor()) GTEST_SKIP() << "needs x86-64's registers, or oneDNN's bf16 AVX-512";
    const KernelJudgement judgement = judge_kernel(subject_of(row_), options_for(row_));
    const Judged judged = Judged::of(judgement);
    const std::string story = story_of(judgement);
    EXPECT_TRUE(is_one_of(judged.verdict, row_.expected))
        << row_.symbol << ": expected " << row_.expected << ", got " << judged.verdict << "\n"
        << story;
    if (row_.property != "-") {
      EXPECT_TRUE(killed_by_its_property(row_, judgement)) << row_.symbol << "\n" << story;
    }
    if (row_.witness.starts_with(">=")) {
      EXPECT_GE(judged.witness, std::stoul(row_.witness.substr(2))) << story;
    } else if (row_.witness != "-") {
      EXPECT_EQ(std::to_string(judged.witness), row_.witness) << story;
    }
    if (!row_.is_planted() && effort_from_environment() == Effort::deep) {
      EXPECT_GE(judgement.rows, 1'000'000u);
    }
    std::cout << judged.verdict << ' ' << story << '\n';
    keep(row_, judged);
  }

 private:
  const ZooRow& row_;
};

// Ops of one kind are judged by the same code but for their values' formulas, which the tests of numerics/ compare in
// every format.
std::string kind_of(const std::string& op) {
  const std::string what = op.find("attention") != std::string::npos || op == "merge_states" ? "attention" : "rows";
  return op.find("backward") != std::string::npos ? "gradients of " + what : what;
}

// What a row of a correct kernel has the judge look at: its op, its format in an op of its kind, each word of its
// contract and of its domain without a number behind it, what it is required to be, and a library that is not the
// zoo's.
std::set<std::string> features_of(const ZooRow& row) {
  std::set<std::string> features{row.op, kind_of(row.op) + ' ' + row.dtype};
  const auto add = [&](const std::string& words, std::string_view numbers) {
    std::istringstream each(words);
    for (std::string word; each >> word;) {
      if (word != "-") features.insert(row.op + ' ' + word.substr(0, word.find_first_of(numbers)));
    }
  };
  add(row.contract, ":");
  add(row.domain, "=<>|");
  add(row.require, ",");
  if (row.library != "softcheck_zoo") features.insert(row.library + ' ' + row.symbol);
  return features;
}

// A plain run judges as many rows of correct kernels as have every feature among them, always the one with most that
// are new next; the others are labelled by the end of their names.
std::vector<bool> left_to_a_deep_run(const std::vector<ZooRow>& rows) {
  std::vector<bool> left;
  // Every process of test_judge runs this before main: features are numbered, as comparing their texts took 20 ms.
  // unseen[i] has the features of row i that no row judged so far has.
  std::map<std::string, std::size_t> numbers;
  std::vector<std::vector<std::size_t>> unseen;
  for (const ZooRow& row : rows) {
    left.push_back(!row.is_planted() && row.expected == "pass");
    std::vector<std::size_t>& features = unseen.emplace_back();
    if (!left.back()) continue;
    for (const std::string& feature : features_of(row)) {
      features.push_back(numbers.try_emplace(feature, numbers.size()).first->second);
    }
  }
  std::vector<bool> seen(numbers.size());
  for (;;) {
    std::size_t best = 0;
    for (std::size_t i = 0; i < rows.size(); ++i) {
      std::erase_if(unseen[i], [&](std::size_t feature) { return seen[feature]; });
      if (unseen[i].size() > unseen[best].size()) best = i;
    }
    if (unseen[best].empty()) return left;
    left[best] = false;
    for (const std::size_t feature : unseen[best]) seen[feature] = true;
  }
}

// Labelled full: Zoo.*:ZooMatrix.*
// Labelled deep: Zoo.*_deep
// Before the matrix, so that in one process, too, each kernel is judged once.
const bool zoo_is_registered = [] {
  const std::vector<ZooRow>& rows = read_zoo();
  const std::vector<bool> left = left_to_a_deep_run(rows);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const std::string name = rows[i].name() + (left[i] ? "_deep" : "");
    ::testing::RegisterTest("Zoo", name.c_str(), nullptr, nullptr, __FILE__, __LINE__,
                            [&row = rows[i]]() -> ::testing::Test* { return new ZooTest(row); });
  }
  return true;
}();

TEST(Zoo, APlainRunJudgesEveryBugAndEveryFeatureOfCorrectKernels) {
  const std::vector<ZooRow>& rows = read_zoo();
  const std::vector<bool> left = left_to_a_deep_run(rows);
  std::set<std::string> features, judged;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (rows[i].is_planted() || rows[i].expected != "pass") {
      EXPECT_FALSE(left[i]) << rows[i].name();
      continue;
    }
    features.merge(features_of(rows[i]));
    if (!left[i]) judged.merge(features_of(rows[i]));
  }
  EXPECT_EQ(features, judged);
  EXPECT_TRUE(judged.contains("softmax") && judged.contains("rows e4m3") && judged.contains("attention sum=lanes") &&
              judged.contains("attention window") && judged.contains("softcheck_cpu_kernels softcheck_attention"));
  std::cout << std::ranges::count(left, true) << " rows of correct kernels that show nothing new are left to --deep\n";
}

// One column for each property, in the order they are run; F where it failed, K where it is the one the bug is for.
void print_matrix(const std::vector<std::pair<ZooRow, Judged>>& planted) {
  std::vector<std::string> properties;
  for (const auto& [row, judged] : planted) {
    for (const std::string& property : judged.run) {
      if (std::ranges::count(properties, property) == 0) properties.push_back(property);
    }
  }
  std::cout << planted.size() << " planted bugs; F: the property fails on it, K: and is the one it is for\n";
  for (std::size_t i = 0; i < properties.size(); ++i)
    std::cout << "  " << char('a' + i) << "  " << properties[i] << '\n';
  for (const auto& [row, judged] : planted) {
    std::cout << "  ";
    for (const std::string& property : properties) {
      const bool failed = std::ranges::count(judged.failed, property) > 0;
      std::cout << (!failed ? '.' : is_one_of(property, row.property) ? 'K' : 'F');
    }
    std::cout << "  " << judged.verdict << std::string(9 - judged.verdict.size(), ' ') << row.bug_class << ' '
              << row.name() << ": " << judged.witness << " logits\n";
  }
}

TEST(ZooMatrix, EveryPlantedBugDiesAndNineInTenWitnessesHoldAtMostEightLogits) {
  std::vector<std::pair<ZooRow, Judged>> planted;
  int witnesses = 0, small = 0;
  std::set<std::string> names;
  for (const ZooRow& row : read_zoo()) {
    // What a row found is kept by its name.
    EXPECT_TRUE(names.insert(row.name()).second) << row.name() << " stands twice";
    if (!row.is_planted() || row.property == "-" || row.needs_another_processor()) continue;
    planted.emplace_back(row, kept_or_judged(row));
    const Judged& judged = planted.back().second;
    EXPECT_NE(judged.verdict, "pass") << row.name();
    // Where the width is the bug, its smallest is known, and the test of that row compares it. What takes more effort
    // shows in large calls alone.
    if (judged.verdict != "fail" || row.witness != "-" || row.needs_effort()) continue;
    ++witnesses;
    small += judged.witness <= 8;
  }
  print_matrix(planted);
  EXPECT_GE(planted.size(), 60u);
  EXPECT_GE(small * 10, witnesses * 9) << small << " of " << witnesses;
  std::cout << small << " of " << witnesses << " witnesses of value bugs hold at most 8 logits\n";
}

}  // namespace
}  // namespace softcheck::proptests
