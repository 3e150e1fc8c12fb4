#include "proptests/tests/planted/test_stages.hpp"

#include <algorithm>
#include <cmath>
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

std::string passed_line(const TimedTest& test) {
  return std::string(passed) + test.name + " (" + std::to_string(std::lround(1000 * test.seconds)) + " ms)\n";
}

std::string failed_test(const std::string& output) {
  const std::size_t at = output.find(failed);
  if (at == std::string::npos) return "";
  std::istringstream words(output.substr(at + failed.size()));
  std::string name;
  words >> name;
  return name.substr(0, name.find(','));
}

std::vector<Stage> stages_of(std::vector<TimedTest> tests, double within) {
  // Starting a program is little beside it, and a loop without an end is noticed soon.
  constexpr double seconds_of_stage = 5;
  std::erase_if(tests, [&](const TimedTest& test) { return test.seconds > within; });
  std::ranges::stable_sort(tests, {}, &TimedTest::seconds);
  std::vector<Stage> stages;
  for (const TimedTest& test : tests) {
    if (stages.empty() || stages.back().seconds > seconds_of_stage) {
      stages.push_back({test.name, test.seconds});
    } else {
      stages.back().filter += ":" + test.name;
      stages.back().seconds += test.seconds;
    }
  }
  return stages;
}

std::string filter_without(const std::string& filter, const std::vector<TimedTest>& known) {
  std::string result = filter;
  for (const TimedTest& test : known) result += (result.find('-') == std::string::npos ? "-" : ":") + test.name;
  return result;
}

}  // namespace softcheck::planted
