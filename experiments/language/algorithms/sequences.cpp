// activity_selector (greedy), lcs_length (dynamic programming), naive_string_matcher (strings).
#include <algorithm>
#include <numeric>

#include "experiments/language/algorithms/specifications.hpp"

namespace softcheck::experiments {
namespace {

constexpr int alphabet = 4;

AlgorithmInputs draw_activities(int size, RandomWords& words) {
  AlgorithmInputs inputs;
  for (int i = 0; i < size; ++i) {
    const int one = below(words, symbol_count), other = below(words, symbol_count - 1);
    const int second = other < one ? other : other + 1;  // not one
    inputs.first.push_back(std::min(one, second));
    inputs.second.push_back(std::max(one, second));
  }
  return inputs;
}

std::string activities_text(const AlgorithmInputs& inputs) {
  return "s: " + listed(inputs.first) + ", f: " + listed(inputs.second);
}

// By finish times, the first of equal ones: an activity that starts when the last one has ended is selected. A state is
// the selection after each of them.
Worked work_activities(const AlgorithmInputs& inputs) {
  std::vector<std::size_t> order(inputs.first.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, {}, [&](std::size_t i) { return inputs.second[i]; });
  std::vector<int> selected(inputs.first.size());
  Worked worked{.states = {listed(selected)}};
  int end = 0;
  for (const std::size_t i : order) {
    if (inputs.first[i] < end) continue;
    selected[i] = 1;
    end = inputs.second[i];
    worked.states.push_back(listed(selected));
  }
  worked.answer = worked.states.back();
  worked.states.pop_back();  // the activity of the first finish time is always selected
  return worked;
}

AlgorithmInputs draw_strings(int size, RandomWords& words) {
  AlgorithmInputs inputs{.first = numbers_below(words, size - size / 2, alphabet)};
  inputs.second = numbers_below(words, size / 2, alphabet);
  return inputs;
}

std::string strings_text(const AlgorithmInputs& inputs) {
  return "x: " + letters(inputs.first) + ", y: " + letters(inputs.second);
}

// A state is a row of the table: the length of the longest common subsequence of x[0 .. i] and each beginning of y.
Worked work_lcs(const AlgorithmInputs& inputs) {
  const std::size_t columns = inputs.second.size();
  std::vector<int> above(columns + 1), row(columns + 1);
  const auto shown = [&] { return listed(std::vector<int>(above.begin() + 1, above.end())); };
  Worked worked{.states = {shown()}};
  for (const int letter : inputs.first) {
    for (std::size_t j = 1; j <= columns; ++j) {
      row[j] = letter == inputs.second[j - 1] ? above[j - 1] + 1 : std::max(above[j], row[j - 1]);
    }
    above = row;
    worked.states.push_back(shown());
  }
  worked.answer = symbol(above.back());
  return worked;
}

// size letters in all, of which a fifth, at least one, are the pattern. The pattern occurs in the text.
AlgorithmInputs draw_pattern(int size, RandomWords& words) {
  const int length = std::max(1, size / 5);
  AlgorithmInputs inputs{.first = numbers_below(words, size - length, alphabet)};
  inputs.second = numbers_below(words, length, alphabet);
  const int place = below(words, size - 2 * length + 1);
  std::ranges::copy(inputs.second, inputs.first.begin() + place);
  return inputs;
}

std::string pattern_text(const AlgorithmInputs& inputs) {
  return "text: " + letters(inputs.first) + ", pattern: " + letters(inputs.second);
}

// The shifts that are tried, until one matches.
Worked work_pattern(const AlgorithmInputs& inputs) {
  Worked worked;
  for (std::size_t s = 0; s + inputs.second.size() <= inputs.first.size(); ++s) {
    worked.answer = symbol(static_cast<int>(s));
    const bool match =
        std::equal(inputs.second.begin(), inputs.second.end(), inputs.first.begin() + static_cast<std::ptrdiff_t>(s));
    if (s == 0 || !match) worked.states.push_back(worked.answer);
    if (match) break;
  }
  return worked;
}

}  // namespace

const Algorithm activity_selector{"activity_selector", "greedy",        "selected",
                                  draw_activities,     activities_text, work_activities};
const Algorithm lcs_length{"lcs_length", "dynamic programming", "length", draw_strings, strings_text, work_lcs};
const Algorithm naive_string_matcher{"naive_string_matcher", "strings", "s", draw_pattern, pattern_text, work_pattern};

}  // namespace softcheck::experiments
