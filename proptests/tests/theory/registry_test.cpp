// Every property as a test of its own (`ctest -R Lemma21`), and every planted wrong version as one that its property
// must reject.
#include "proptests/registry.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iostream>
#include <map>
#include <regex>
#include <set>
#include <sstream>

#include "judge/trial/effort.hpp"
#include "proptests/engine/corpus.hpp"
#include "proptests/mutants/planted.hpp"
#include "proptests/report/report.hpp"

namespace softcheck::proptests {
namespace {

namespace fs = std::filesystem;
using numerics::Verdict;

const fs::path source_dir = SOFTCHECK_SOURCE_DIR;

const std::vector<CorpusEntry>& corpus() {
  static const std::vector<CorpusEntry> entries = read_corpus(source_dir / "proptests/corpus");
  return entries;
}

// Cases as the effort says (./run test --deep). No property takes the minutes that a test has: it then ends with the
// cases it came to.
RunOptions options_of_effort() {
  RunOptions options;
  options.cases = size_of(effort_from_environment()).cases;
  options.seconds = 240;
  return options_from_environment(options);
}

class PropertyTest : public ::testing::Test {
 public:
  explicit PropertyTest(const Property& property) : property_(property) {}
  void TestBody() override {
    const RunOptions options = options_of_effort();
    const Outcome outcome = run_with_corpus(property_, corpus(), options);
    const std::string table = to_table({rows_of(property_, outcome)});
    std::cout << "seed " << options.seed << ", " << outcome.cases << " cases\n" << table;
    EXPECT_EQ(outcome.verdict, Verdict::proved) << table;
  }

 private:
  const Property& property_;
};

class PlantedTest : public ::testing::Test {
 public:
  explicit PlantedTest(PlantedVersion planted) : planted_(std::move(planted)) {}
  void TestBody() override {
    const Outcome outcome = planted_.wrong.run(options_of_effort());
    EXPECT_EQ(outcome.verdict, Verdict::violated)
        << planted_.what << ", " << outcome.cases << " cases: " << outcome.note;
    ASSERT_TRUE(outcome.counterexample) << planted_.what << ": " << outcome.note;
    const Counterexample& found = *outcome.counterexample;
    std::cout << planted_.what << ": rejected in case " << outcome.cases << ", witness of size " << found.size << " by "
              << found.evaluations << " evaluations\n  " << found.case_text << "\n";
    EXPECT_EQ(found.error, "") << planted_.what << " is a wrong call, not a wrong claim";
    // The fault must be the planted one: the right property holds of the same case.
    const Property* property = find_property(planted_.wrong.name());
    ASSERT_NE(property, nullptr) << planted_.wrong.name();
    EXPECT_EQ(property->replay(found.case_text).verdict, Verdict::proved);
  }

 private:
  PlantedVersion planted_;
};

// gtest knows the tests of a suite by their fixture: all are registered as plain ::testing::Test.
void register_test(const std::string& suite, const std::string& name, std::function<::testing::Test*()> factory) {
  ::testing::RegisterTest(suite.c_str(), name.c_str(), nullptr, nullptr, __FILE__, __LINE__, std::move(factory));
}

bool register_all() {
  for (const Property& property : all_properties()) {
    register_test(property.suite(), property.sentence(),
                  [&property]() -> ::testing::Test* { return new PropertyTest(property); });
  }
  std::map<std::string, int> count;
  for (const PlantedVersion& planted : all_planted()) {
    const std::string name = planted.wrong.suite() + "_" + planted.wrong.sentence();
    register_test("Planted", name + "_" + std::to_string(++count[name]),
                  [planted]() -> ::testing::Test* { return new PlantedTest(planted); });
  }
  return true;
}

[[maybe_unused]] const bool registered = register_all();

std::string page_text(const fs::path& path) {
  std::ifstream stream(path);
  std::ostringstream text;
  text << stream.rdbuf();
  return text.str();
}

std::set<std::string> matches(const std::string& text, const std::string& pattern) {
  const std::regex expression(pattern);
  std::set<std::string> found;
  for (std::sregex_iterator match(text.begin(), text.end(), expression), end; match != end; ++match) {
    found.insert((*match)[1]);
  }
  return found;
}

const char* const claim_id = "([a-z][a-z0-9_]*[.][a-z][a-z0-9_]*)";

/// Claim ids that theory/ writes out: those literals whose first part is the name of one of its headers.
std::set<std::string> claims_of_theory() {
  std::set<std::string> claims;
  for (const fs::directory_entry& file : fs::directory_iterator(source_dir / "theory")) {
    if (file.path().extension() != ".hpp" && file.path().extension() != ".cpp") continue;
    for (const std::string& id : matches(page_text(file.path()), "\"" + std::string(claim_id) + "\"")) {
      if (fs::exists(source_dir / "theory" / (id.substr(0, id.find('.')) + ".hpp"))) claims.insert(id);
    }
  }
  return claims;
}

/// Is the claim in the set? A literal such as "streaming_entropy.rounding_" is the beginning of several.
bool holds_claim(const std::set<std::string>& claims, const std::string& claim) {
  if (!claim.ends_with("_")) return claims.contains(claim);
  const auto next = claims.lower_bound(claim);
  return next != claims.end() && next->starts_with(claim);
}

std::set<std::string> claims_of_properties() {
  std::set<std::string> claims;
  for (const Property& property : all_properties()) claims.insert(property.claims().begin(), property.claims().end());
  return claims;
}

TEST(Registry, NamesAreUniqueAndFound) {
  std::set<std::string> names;
  for (const Property& property : all_properties()) {
    EXPECT_TRUE(names.insert(property.name()).second) << property.name();
    EXPECT_EQ(find_property(property.name()), &property);
    EXPECT_FALSE(property.claims().empty()) << property.name();
  }
  EXPECT_EQ(find_property("Lemma21.HoldsOnSundays"), nullptr);
}

TEST(Registry, EveryPropertyHasAPlantedWrongVersionAndEveryPlantedVersionAProperty) {
  std::set<std::string> planted;
  for (const PlantedVersion& version : all_planted()) {
    planted.insert(version.wrong.name());
    EXPECT_NE(find_property(version.wrong.name()), nullptr) << version.what << ": " << version.wrong.name();
  }
  for (const Property& property : all_properties()) EXPECT_TRUE(planted.contains(property.name())) << property.name();
}

TEST(Registry, EveryHeaderOfPropertiesAndMutantsIsInItsRegistry) {
  for (const char* folder : {"properties", "mutants"}) {
    const std::string registry =
        page_text(source_dir / "proptests" / (std::string(folder) == "mutants" ? "mutants" : "") / "registry.cpp");
    for (const fs::directory_entry& file : fs::directory_iterator(source_dir / "proptests" / folder)) {
      const std::string stem = file.path().stem().string();
      const std::string list = stem + (std::string(folder) == "mutants" ? "_planted" : "_properties");
      if (file.path().extension() != ".hpp" || page_text(file.path()).find(list + "()") == std::string::npos) continue;
      EXPECT_NE(registry.find(list), std::string::npos) << file.path();
    }
  }
}

TEST(TraceTable, EveryClaimOfTheoryIsDecidedByAProperty) {
  const std::set<std::string> decided = claims_of_properties();
  for (const std::string& claim : claims_of_theory()) EXPECT_TRUE(holds_claim(decided, claim)) << claim;
}

TEST(TraceTable, EveryClaimHasItsRowAndEveryPropertyInTheTableExists) {
  const fs::path path = source_dir / "theory/README.md";
  ASSERT_TRUE(fs::exists(path)) << path << ": the trace table of results, headers, proofs, properties and checks";
  std::istringstream lines(page_text(path));
  std::string table;
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("|")) table += line + "\n";
  }
  const std::set<std::string> listed = matches(table, "`" + std::string(claim_id) + "`");
  for (const std::string& claim : claims_of_properties()) EXPECT_TRUE(listed.contains(claim)) << claim << " has no row";
  for (const std::string& claim : claims_of_theory()) EXPECT_TRUE(holds_claim(listed, claim)) << claim << " has no row";
  const std::set<std::string> named = matches(table, "`([A-Z][A-Za-z0-9]*[.][A-Z][A-Za-z0-9]*)`");
  for (const std::string& name : named) EXPECT_NE(find_property(name), nullptr) << name << " is no property";
  for (const Property& property : all_properties()) {
    EXPECT_TRUE(named.contains(property.name())) << property.name() << " is in no row";
  }
}

/// The cells of a table's line, without their blanks.
std::vector<std::string> cells_of(const std::string& line) {
  std::vector<std::string> cells;
  std::istringstream stream(line);
  for (std::string cell; std::getline(stream, cell, '|');) {
    const std::size_t first = cell.find_first_not_of(' '), last = cell.find_last_not_of(' ');
    cells.push_back(first == std::string::npos ? "" : cell.substr(first, last - first + 1));
  }
  return cells;
}

/// A file of theory/proofs states a theorem of that name.
bool proves(const fs::path& file, const std::string& name) {
  return std::regex_search(page_text(file), std::regex("(^|\n) *(Theorem|Corollary) " + name + "\\b"));
}

TEST(TraceTable, EveryClaimNamesItsTheoremOrSaysWhatIsMissing) {
  std::istringstream lines(page_text(source_dir / "theory/README.md"));
  std::size_t proved = 0;
  for (std::string line; std::getline(lines, line);) {
    std::smatch id;
    if (!line.starts_with("|") || !std::regex_search(line, id, std::regex("`" + std::string(claim_id) + "`"))) continue;
    const std::string claim = id[1];
    const std::vector<std::string> cells = cells_of(line);
    ASSERT_GT(cells.size(), 5U) << line;
    const std::string header = claim.substr(0, claim.find('.')), name = claim.substr(claim.find('.') + 1);
    const fs::path file = source_dir / "theory/proofs" / (header + ".v");
    const std::string& cell = cells[5];
    if (cell == "[" + header + ".v](proofs/" + header + ".v)") {
      EXPECT_TRUE(proves(file, name)) << claim << ": " << file << " has no Theorem " << name;
      ++proved;
    } else {
      EXPECT_TRUE(cell.starts_with("none: ") && cell.size() > 20) << claim << ": need its file or 'none: REASON'";
      EXPECT_FALSE(fs::exists(file) && proves(file, name)) << claim << " is proved: name its file";
    }
  }
  EXPECT_GT(proved, 0U);
}

TEST(Corpus, EveryEntryNamesAPropertyAndParses) {
  for (const CorpusEntry& entry : corpus()) {
    const Property* property = find_property(entry.property);
    ASSERT_NE(property, nullptr) << entry.where << ": " << entry.property;
    EXPECT_NO_THROW(property->replay(entry.case_text)) << entry.where;
  }
}

}  // namespace
}  // namespace softcheck::proptests
