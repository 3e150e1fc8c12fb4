#include "proptests/tests/planted/test_stages.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <sstream>
#include <string_view>

namespace softcheck::planted {
namespace {

constexpr std::string_view passed = "[       OK ] ", skipped = "[  SKIPPED ] ", failed = "[  FAILED  ] ";

}  // namespace

std::vector<TimedTest> timed_tests(const std::string& output) {
  std::vector<TimedTest> tests;
  std::istringstream in(output);
  for (std::string line; std::getline(in, line);) {
    if (!line.starts_with(passed) && !line.starts_with(skipped)) continue;
    std::istringstream words(line.substr(passed.size()));
    std::string name, time;
    words >> name >> time;
    // The list of skipped tests at the end names no times.
    if (time.starts_with('(')) tests.push_back({name, std::stod(time.substr(1)) / 1000});
  }
  return tests;
}

std::string failed_test(const std::string& output) {
  const std::size_t at = output.find(failed);
  if (at == std::string::npos) return "";
  std::istringstream words(output.substr(at + failed.size()));
  std::string name;
  words >> name;
  return name.substr(0, name.find(','));
}

std::vector<Stage> stages_of(const std::vector<TimedTest>& tests, double within) {
  constexpr std::array<double, 5> ends{0.05, 0.2, 1, 5, std::numeric_limits<double>::infinity()};
  std::vector<Stage> stages;
  double begin = -1;
  for (const double end : ends) {
    Stage stage{"", 0};
    for (const TimedTest& test : tests) {
      if (test.seconds <= begin || test.seconds > std::min(end, within)) continue;
      stage.filter += (stage.filter.empty() ? "" : ":") + test.name;
      stage.seconds += test.seconds;
    }
    if (!stage.filter.empty()) stages.push_back(stage);
    begin = end;
  }
  return stages;
}

std::string filter_without(const std::string& filter, const std::vector<TimedTest>& known) {
  std::string result = filter;
  for (const TimedTest& test : known) result += (result.find('-') == std::string::npos ? "-" : ":") + test.name;
  return result;
}

}  // namespace softcheck::planted
