#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <stdexcept>
#include <thread>

#include "proptests/report/report_parts.hpp"

namespace softcheck::proptests {
namespace {

ReportRow part_row(const std::string& claim, ReportVerdict verdict = ReportVerdict::pass) {
  ReportRow result;
  result.claim = claim;
  result.subject = "a kernel";
  result.cases = 12;
  result.slack = 0.5;
  result.verdict = verdict;
  if (verdict == ReportVerdict::fail) result.failed.push_back({claim, "a witness", {}, {}, {}});
  return result;
}

/// A row that has all that a passing one can have.
ReportRow full_part_row() {
  ReportRow result = part_row("toy.full");
  result.slack = std::numeric_limits<double>::infinity();
  result.seconds = 0.1;
  result.details = {"a line", "bytes that are no UTF-8: \xff"};
  result.errors = ErrorStatistics{std::size_t{1} << 40, 0.3, 0x1.123456789abcdp-30, -0.0, 5e-324, "x[3]"};
  result.not_tried = {"in place: not promised"};
  result.coverage = {{"length", "one", 3, 1, ""}, {"length", "many", 0, 0, "no memory"}};
  return result;
}

/// Parts that know where they are made. Those of this process wait until a fork has begun one.
class Places {
 public:
  Places() {
    void* shared = mmap(nullptr, sizeof(*begun_), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED) throw std::runtime_error("mmap");
    begun_ = new (shared) std::atomic<int>(0);
  }
  ~Places() { munmap(begun_, sizeof(*begun_)); }
  Places(const Places&) = delete;
  Places& operator=(const Places&) = delete;

  bool in_fork() const {
    if (getpid() != process_) {
      ++*begun_;
      return true;
    }
    for (int i = 0; i < 2000 && *begun_ == 0; ++i) std::this_thread::sleep_for(std::chrono::milliseconds(5));
    EXPECT_GT(*begun_, 0) << "no fork began a part within ten seconds";
    return false;
  }

 private:
  pid_t process_ = getpid();
  std::atomic<int>* begun_;
};

Report report_of(const std::function<ReportRow()>& make) {
  return {rows_of_parts({{[&] { return std::vector{make()}; }}, {[&] { return std::vector{make()}; }}}, 2)};
}

TEST(ReportParts, RowsAreTheSameWhateverTheNumberOfProcesses) {
  const Places* places = nullptr;  // where there are several processes
  std::vector<ReportPart> parts;
  for (int i = 0; i < 9; ++i) {
    parts.push_back({[i, &places] {
                       if (places != nullptr) places->in_fork();
                       std::vector<ReportRow> rows(i == 4 ? 0 : 1 + i % 3, part_row("toy." + std::to_string(i)));
                       if (i == 2) rows.push_back(full_part_row());
                       if (i == 5) rows.front().slack = std::nan("");
                       if (i == 6) rows.front() = part_row("toy.fails", ReportVerdict::fail);
                       if (i == 7) rows.front().verdict = ReportVerdict::undecided;
                       return rows;
                     },
                     i % 4});
  }
  const std::string expected = to_json({rows_of_parts(parts, 1)});
  EXPECT_NE(expected.find("toy.full"), std::string::npos);
  for (const unsigned processes : {2U, 3U, 50U}) {
    const Places own;
    places = &own;
    EXPECT_EQ(to_json({rows_of_parts(parts, processes)}), expected);
  }
}

TEST(ReportParts, ARowLosesNothingBetweenProcesses) {
  const Places places;
  const Report report = report_of([&] {
    ReportRow made = full_part_row();
    made.subject = places.in_fork() ? "a fork" : "this process";
    return made;
  });
  int from_fork = 0;
  for (const ReportRow& got : report.rows) {
    from_fork += got.subject == "a fork";
    ReportRow expected = full_part_row();
    expected.subject = got.subject;
    EXPECT_EQ(to_json({{got}}), to_json({{expected}}));
    ASSERT_TRUE(got.errors.has_value());
    EXPECT_TRUE(std::signbit(got.errors->bias_ulps));
  }
  EXPECT_GE(from_fork, 1);
}

TEST(ReportParts, WhatFailsInAForkHasItsCertificates) {
  const Places places;
  const Report report = report_of([&] {
    places.in_fork();
    return part_row("toy.fails", ReportVerdict::fail);
  });
  ASSERT_EQ(report.rows.size(), 2U);
  for (const ReportRow& got : report.rows) EXPECT_EQ(got.failed.size(), 1U);
}

TEST(ReportParts, WhatFailsOnlyInAForkIsNotLost) {
  const Places places;
  const Report report = report_of([&] {
    ReportRow made = part_row("toy.sometimes", places.in_fork() ? ReportVerdict::fail : ReportVerdict::pass);
    made.details = {"why"};
    return made;
  });
  ASSERT_EQ(report.rows.size(), 2U);
  EXPECT_EQ(report.verdict(), ReportVerdict::fail);
  EXPECT_EQ(report.rows.front().details.size() + report.rows.back().details.size(), 2U);
}

TEST(ReportParts, APartThatAForkDiedOfIsMadeAgain) {
  for (const bool dies : {true, false}) {
    const Places places;
    const Report report = report_of([&] {
      if (places.in_fork()) {
        if (dies) _exit(3);
        throw std::runtime_error("only in a fork");
      }
      return part_row("toy.made_again");
    });
    EXPECT_EQ(report.rows.size(), 2U);
    EXPECT_EQ(report.verdict(), ReportVerdict::pass);
  }
}

TEST(ReportParts, WhatAPartThrowsReachesTheCaller) {
  EXPECT_THROW(report_of([]() -> ReportRow { throw std::domain_error("a part"); }), std::domain_error);
  EXPECT_THROW(rows_of_parts({}, 0), std::invalid_argument);
  EXPECT_TRUE(rows_of_parts({}, 3).empty());
}

}  // namespace
}  // namespace softcheck::proptests
