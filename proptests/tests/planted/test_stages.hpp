#pragma once

#include <string>
#include <vector>

namespace softcheck::planted {

/// A test of a GoogleTest program and how long it took.
struct TimedTest {
  std::string name;
  double seconds;
};

/// The tests that passed or were skipped, by the program's output.
std::vector<TimedTest> timed_tests(const std::string& output);

/// What a program prints of a test that passed.
std::string passed_line(const TimedTest& test);

/// The first test that failed, by the program's output; empty where none did.
std::string failed_test(const std::string& output);

/// Tests that are run by one call, and how long they took together.
struct Stage {
  std::string filter;
  double seconds;
};

/// Tests of at most so many seconds, short ones first: a change that a short test notices costs no long one.
std::vector<Stage> stages_of(std::vector<TimedTest> tests, double within);

/// The tests of a filter without those that are known.
std::string filter_without(const std::string& filter, const std::vector<TimedTest>& known);

}  // namespace softcheck::planted
