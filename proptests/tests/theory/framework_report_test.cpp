#include <gmock/gmock.h>
#include <rapidcheck.h>
#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <limits>
#include <memory>
#include <nlohmann/json.hpp>
#include <sstream>

#include "judge/call/evidence.hpp"
#include "proptests/engine/corpus.hpp"
#include "proptests/generators/rows/row.hpp"
#include "proptests/report/report.hpp"

namespace softcheck::proptests {
namespace {

namespace fs = std::filesystem;
using numerics::Verdict;

/// An empty directory for as long as it lives.
class ScopedDirectory {
 public:
  ScopedDirectory() : path_(fs::temp_directory_path() / ("softcheck-report-" + std::to_string(::getpid()))) {
    fs::remove_all(path_);
    fs::create_directories(path_);
  }
  ~ScopedDirectory() { fs::remove_all(path_); }
  ScopedDirectory(const ScopedDirectory&) = delete;
  ScopedDirectory& operator=(const ScopedDirectory&) = delete;
  const fs::path& path() const { return path_; }

 private:
  fs::path path_;
};

std::string text_of(const fs::path& path) {
  std::ifstream stream(path, std::ios::binary);
  std::ostringstream text;
  text << stream.rdbuf();
  return text.str();
}

void write(const fs::path& path, const std::string& text) { std::ofstream(path) << text; }

ReportRow row(std::string claim, ReportVerdict verdict, double slack = 0.5) {
  ReportRow result;
  result.claim = std::move(claim);
  result.subject = "a kernel";
  result.cases = 12;
  result.slack = slack;
  result.verdict = verdict;
  return result;
}

/// Decides toy.left and toy.right: the left claim fails where a row has three items, by exact enclosures.
Property toy() {
  return PropertyOf<RowCase>{"Toy", "Holds", {"toy.left", "toy.right"}, row_cases(), [](const RowCase& row_case) {
                               const auto size = numerics::Enclosure::integer(row_case.row.size());
                               const auto at_most = [&](const char* claim, int limit) {
                                 return numerics::certify_less_equal(claim, to_text(row_case), [&] {
                                   return numerics::Sides{size, numerics::Enclosure(limit)};
                                 });
                               };
                               return Certificates{at_most("toy.left", 2), at_most("toy.right", 1 << 30)};
                             }};
}

TEST(Report, TheMostImportantVerdictIsItsOwn) {
  using enum ReportVerdict;
  EXPECT_EQ((Report{}.verdict()), vacuous);
  EXPECT_EQ((Report{{row("a", pass), row("b", pass)}}.verdict()), pass);
  const std::vector<ReportVerdict> order{fail, crash, timeout, refused, undecided, pass};
  for (std::size_t i = 0; i < order.size(); ++i) {
    for (std::size_t j = i; j < order.size(); ++j) {
      EXPECT_EQ((Report{{row("a", order[j]), row("b", order[i])}}.verdict()), order[i]);
    }
  }
  EXPECT_EQ((Report{{row("a", pass), row("b", vacuous)}}.verdict()), vacuous);
}

TEST(Report, ExitCodesAreThoseOfTheDesign) {
  EXPECT_EQ(exit_code(ReportVerdict::pass), 0);
  EXPECT_EQ(exit_code(ReportVerdict::fail), 1);
  EXPECT_EQ(exit_code(ReportVerdict::refused), 4);
  EXPECT_EQ(exit_code(ReportVerdict::vacuous), 5);
  EXPECT_EQ(exit_code(ReportVerdict::undecided), 5);
  EXPECT_EQ(exit_code(ReportVerdict::crash), 6);
  EXPECT_EQ(exit_code(ReportVerdict::timeout), 7);
}

TEST(Report, AFailedPropertyTellsWitnessAndReplayInTheRowOfItsClaim) {
  const std::vector<ReportRow> rows = rows_of(toy(), toy().run({}));
  ASSERT_EQ(rows.size(), 2U);
  EXPECT_EQ(rows[0].claim, "toy.left");
  EXPECT_EQ(rows[0].verdict, ReportVerdict::fail);
  ASSERT_EQ(rows[0].failed.size(), 1U);
  ASSERT_FALSE(rows[0].details.empty());
  EXPECT_TRUE(rows[0].details.back().starts_with("replay: softcheck test --filter Toy.Holds --replay 'row "));
  EXPECT_EQ(rows[1].verdict, ReportVerdict::pass);
  EXPECT_TRUE(rows[1].details.empty());
}

TEST(Report, AThrowingPropertyFailsInItsFirstRow) {
  Outcome outcome;
  outcome.verdict = Verdict::violated;
  outcome.claims["toy.left"].decided = 3;
  outcome.claims["toy.right"];
  outcome.counterexample = Counterexample{};
  outcome.counterexample->error = "toy: three items";
  const std::vector<ReportRow> rows = rows_of(toy(), outcome);
  EXPECT_EQ(rows[0].verdict, ReportVerdict::fail);
  EXPECT_EQ(rows[0].details.front(), "the check threw: toy: three items");
}

TEST(Report, TheTableIsPlainUnlessColourIsAskedFor) {
  const Report report{
      {row("toy.left", ReportVerdict::pass, 0.99996), row("toy.right", ReportVerdict::fail, std::nan(""))}};
  const std::string plain = to_table(report);
  EXPECT_EQ(plain,
            "  claim         cases       slack  verdict    seconds\n"
            "a kernel\n"
            "  toy.left         12          <1  pass          0.00\n"
            "  toy.right        12           -  fail          0.00\n");
  EXPECT_EQ(plain.find('\033'), std::string::npos);
  EXPECT_NE(to_table(report, {.colour = true}).find("\033[31mfail"), std::string::npos);
}

TEST(Report, JsonHoldsVerdictClaimsAndBothEndsOfEnclosures) {
  Report report{rows_of(toy(), toy().run({}))};
  report.rows.push_back(row("toy.third", ReportVerdict::pass, std::nan("")));
  const nlohmann::json parsed = nlohmann::json::parse(to_json(report));
  EXPECT_EQ(parsed["verdict"], "fail");
  ASSERT_EQ(parsed["claims"].size(), 3U);
  EXPECT_EQ(parsed["claims"][2]["slack"], nullptr);
  EXPECT_EQ(parsed["claims"][2]["cases"], 12);
  const nlohmann::json& failed = parsed["claims"][0]["failed"][0];
  EXPECT_EQ(failed["claim"], "toy.left");
  EXPECT_EQ(failed["verdict"], "violated");
  EXPECT_EQ(failed["left"]["lower"], 3.0);
  EXPECT_EQ(failed["right"]["upper"], 2.0);
  ASSERT_EQ(failed["left"]["enclosure"].size(), 2U);
  EXPECT_EQ(std::stod(failed["left"]["enclosure"][0].get<std::string>()), 3.0);
  EXPECT_EQ(std::stod(failed["left"]["enclosure"][1].get<std::string>()), 3.0);
}

TEST(Report, JsonOfAnEvidenceHasEveryKey) {
  KernelEvidence evidence;
  evidence.asked.case_text = "a case";
  evidence.asked.remark = "a remark";
  evidence.asked.row = 4;
  evidence.asked.row_text = "a row";
  ReportedValue value;
  value.item = 7;
  value.expected = numerics::Enclosure(0.25);
  value.due = "NaN";
  value.got = 0.5;
  value.ulps = 3;
  evidence.value = value;
  evidence.ending = CallEnding{CallEnd::crashed, "signal 11", {"a line"}};
  numerics::Certificate certificate;
  certificate.claim = "kernel.toy";
  certificate.verdict = Verdict::violated;
  certificate.evidence = std::make_shared<KernelEvidence>(evidence);
  ReportRow failed = row("kernel.toy", ReportVerdict::fail);
  failed.failed.push_back(certificate);
  const nlohmann::json shown = nlohmann::json::parse(to_json(Report{{failed}}))["claims"][0]["failed"][0];
  for (const char* key :
       {"claim", "verdict", "left", "relation", "right", "slack", "precision", "witness", "evidence"}) {
    EXPECT_TRUE(shown.contains(key)) << key;
  }
  const nlohmann::json& told = shown["evidence"];
  EXPECT_EQ(told["case"], "a case");
  EXPECT_EQ(told["remark"], "a remark");
  EXPECT_EQ(told["row"], 4);
  EXPECT_EQ(told["row_text"], "a row");
  EXPECT_EQ(told["end"], "crashed");
  EXPECT_EQ(told["death"], "signal 11");
  EXPECT_EQ(told["printed"], nlohmann::json::array({"a line"}));
  EXPECT_EQ(told["value"]["item"], 7);
  EXPECT_EQ(told["value"]["expected"]["lower"], 0.25);
  EXPECT_EQ(told["value"]["due"], "NaN");
  EXPECT_EQ(told["value"]["got"], 0.5);
  EXPECT_EQ(told["value"]["got_text"], numerics::hex_float(0.5));
  EXPECT_EQ(told["value"]["ulps"], 3);
  EXPECT_EQ(told["value"]["format"], "f32");
}

TEST(Report, JunitIsEscapedAndCountsWhatDidNotHold) {
  Report report{{row("a<b>&\"c\"", ReportVerdict::fail), row("toy.refused", ReportVerdict::refused),
                 row("toy.crash", ReportVerdict::crash), row("toy.pass", ReportVerdict::pass)}};
  report.rows[0].details = {"]]> \x01\xff", "second line"};
  const std::string text = to_junit(report);
  EXPECT_NE(text.find("tests=\"4\" failures=\"1\" errors=\"1\" skipped=\"1\""), std::string::npos) << text;
  EXPECT_NE(text.find("name=\"a&lt;b&gt;&amp;&quot;c&quot;\""), std::string::npos) << text;
  EXPECT_NE(text.find("]]&gt; \xEF\xBF\xBD\xEF\xBF\xBD&#10;second line"), std::string::npos) << text;
  EXPECT_EQ(text.find('\x01'), std::string::npos);
}

TEST(Report, JunitHasTheNumbersAsProperties) {
  ReportRow judged = row("toy.judged", ReportVerdict::pass);
  judged.slack = 0.1;
  judged.errors.emplace();
  judged.errors->values = 3;
  judged.errors->worst_ulps = 1.5;
  judged.errors->worst_allowed_ulps = 8;
  judged.errors->bias_ulps = -0.0;
  EXPECT_NE(to_junit({{judged}})
                .find(">\n      <properties>\n        <property name=\"slack\" value=\"0.1\"/>\n"
                      "        <property name=\"worst_ulps\" value=\"1.5\"/>\n"
                      "        <property name=\"worst_allowed_ulps\" value=\"8.0\"/>\n"
                      "        <property name=\"bias_ulps\" value=\"0.0\"/>\n      </properties>\n"),
            std::string::npos)
      << to_junit({{judged}});
  judged.slack = std::numeric_limits<double>::infinity();  // no number that a plot could show
  judged.errors->values = 0;
  judged.errors->largest_share = 0.25;
  EXPECT_EQ(to_junit({{judged}}).find("<propert"), std::string::npos) << to_junit({{judged}});
  EXPECT_NE(to_junit({{judged}}).find("<system-out>error/threshold at most 0.25&#10;<"), std::string::npos);
}

TEST(Report, WhatIsNoUtf8IsReplaced) {
  EXPECT_EQ(printable_utf8("plain \t\n"), "plain \t\n");
  EXPECT_EQ(printable_utf8("\xC3\xA9 \xE2\x82\xAC \xF0\x9F\x98\x80"), "\xC3\xA9 \xE2\x82\xAC \xF0\x9F\x98\x80");
  const std::string bad = "\xEF\xBF\xBD";
  EXPECT_EQ(printable_utf8("\xC3"), bad);
  EXPECT_EQ(printable_utf8("\xC0\x80"), bad + bad);            // an overlong zero
  EXPECT_EQ(printable_utf8("\xED\xA0\x80"), bad + bad + bad);  // a surrogate
  EXPECT_EQ(printable_utf8("\xEF\xBF\xBE"), bad + bad + bad);  // U+FFFE
  EXPECT_EQ(printable_utf8("\x1b[31m"), bad + "[31m");
  EXPECT_EQ(printable_utf8(std::string_view("\0", 1)), bad);
}

TEST(Report, FilesAreReplacedAtOnceOrNotAtAll) {
  const ScopedDirectory directory;
  const fs::path file = directory.path() / "report.json";
  write_file_atomically(file, "first");
  write_file_atomically(file, "second\n");
  EXPECT_EQ(text_of(file), "second\n");
  EXPECT_EQ(std::distance(fs::directory_iterator(directory.path()), fs::directory_iterator()), 1);
  EXPECT_THROW(write_file_atomically(directory.path(), "text"), std::runtime_error);
  EXPECT_THAT([&] { write_file_atomically(directory.path() / "missing" / "report.json", "text"); },
              ::testing::ThrowsMessage<std::runtime_error>(::testing::HasSubstr("missing/report.json")));
  write_file_atomically("/dev/null", "text");
  EXPECT_TRUE(fs::is_character_file("/dev/null"));
}

TEST(CorpusFile, EntriesAreReadWithTheirPlaces) {
  const ScopedDirectory directory;
  write(directory.path() / "a.txt", "# why\n\nToy.Holds\trow f32 theta=0x1p+0 0x0p+0\n");
  write(directory.path() / "b.txt", "Toy.Other\trow f32 theta=0x1p+0 0x0p+0*2\n");
  write(directory.path() / "notes.md", "not a case");
  const std::vector<CorpusEntry> entries = read_corpus(directory.path());
  ASSERT_EQ(entries.size(), 2U);
  EXPECT_EQ(entries[0].property, "Toy.Holds");
  EXPECT_EQ(entries[0].case_text, "row f32 theta=0x1p+0 0x0p+0");
  EXPECT_TRUE(entries[0].where.ends_with("a.txt:3"));
  EXPECT_EQ(entries_of(entries, toy()).size(), 1U);
}

TEST(CorpusFile, WhatIsNoEntryIsRefusedByFileAndLine) {
  const ScopedDirectory directory;
  const fs::path file = directory.path() / "bad.txt";
  for (const char* line :
       {"Toy.Holds row f32", "Toy\trow", "Toy.\trow", ".Holds\trow", "Toy.Holds\t", "Toy.Holds\t row",
        "Toy.Holds\trow ", "Toy.Holds\trow\r", "Toy.Holds\trow\tf32", "To y.Holds\trow"}) {
    write(file, std::string("# first line\n") + line + "\n");
    EXPECT_THAT([&] { read_corpus(file); },
                ::testing::ThrowsMessage<std::invalid_argument>(::testing::HasSubstr("bad.txt:2: ")))
        << line;
  }
  EXPECT_THROW(read_corpus(directory.path() / "missing.txt"), std::runtime_error);
}

TEST(CorpusFile, ItsCasesAreReplayedBeforeRandomOnes) {
  const std::vector<CorpusEntry> good{{"Toy.Holds", "row f32 theta=0x1p+0 0x0p+0", "a:1"}};
  const std::vector<CorpusEntry> bad{{"Toy.Holds", "row f32 theta=0x1p+0 0x0p+0*9", "a:1"}};
  const std::vector<CorpusEntry> malformed{{"Toy.Holds", "row", "a:1"}};
  const Outcome fails = run_with_corpus(toy(), bad, {});
  EXPECT_EQ(fails.cases, 1);
  ASSERT_TRUE(fails.counterexample);
  EXPECT_EQ(fails.counterexample->case_text, bad[0].case_text);
  EXPECT_EQ(fails.note, "a:1");
  RunOptions one;
  one.cases = 1;
  one.max_size = 0;
  const Outcome random = run_with_corpus(toy(), good, one);
  EXPECT_EQ(random.cases, 2);
  EXPECT_EQ(random.claims.at("toy.right").decided, 2U);
  EXPECT_THROW(run_with_corpus(toy(), malformed, {}), std::invalid_argument);
}

}  // namespace
}  // namespace softcheck::proptests
