// minimum, binary_search and find_maximum_subarray (Kadane's): places in an array.
#include <algorithm>

#include "experiments/language/algorithms/specifications.hpp"

namespace softcheck::experiments {
namespace {

AlgorithmInputs draw_minimum(int size, RandomWords& words) {
  return {.first = numbers_below(words, size, symbol_count)};
}

std::string minimum_text(const AlgorithmInputs& inputs) { return "key: " + listed(inputs.first); }

// The position of the smallest number so far, the first of equal ones.
Worked work_minimum(const AlgorithmInputs& inputs) {
  Worked worked;
  std::size_t least = 0;
  for (std::size_t i = 0; i < inputs.first.size(); ++i) {
    if (inputs.first[i] < inputs.first[least]) least = i;
    if (i == 0 || i + 1 < inputs.first.size()) worked.states.push_back(std::string(1, symbol(static_cast<int>(least))));
  }
  worked.answer = std::string(1, symbol(static_cast<int>(least)));
  return worked;
}

AlgorithmInputs draw_search(int size, RandomWords& words) {
  AlgorithmInputs inputs{.first = numbers_below(words, size, symbol_count)};
  std::ranges::sort(inputs.first);
  inputs.single = below(words, symbol_count);
  return inputs;
}

std::string search_text(const AlgorithmInputs& inputs) {
  return "key: " + listed(inputs.first) + ", target: " + symbol(inputs.single);
}

// low and high, until they meet at the first number that is not below the target, or at the last number.
Worked work_search(const AlgorithmInputs& inputs) {
  Worked worked;
  int low = 0, high = static_cast<int>(inputs.first.size()) - 1;
  worked.states.push_back(pair_of(low, high));
  while (low < high) {
    const int middle = (low + high) / 2;
    if (inputs.first[static_cast<std::size_t>(middle)] >= inputs.single) {
      high = middle;
    } else {
      low = middle + 1;
    }
    worked.states.push_back(pair_of(low, high));
  }
  worked.answer = worked.states.back();
  if (worked.states.size() > 1) worked.states.pop_back();
  return worked;
}

AlgorithmInputs draw_subarray(int size, RandomWords& words) {
  AlgorithmInputs inputs{.first = numbers_below(words, size, 19)};
  for (int& number : inputs.first) number -= 9;
  return inputs;
}

std::string subarray_text(const AlgorithmInputs& inputs) { return "key: " + listed_with_signs(inputs.first); }

// First and last place of the best sum so far, the first of equal ones; a sum below 0 is not carried on.
Worked work_subarray(const AlgorithmInputs& inputs) {
  Worked worked;
  int best = inputs.first[0], best_low = 0, best_high = 0, sum = best, low = 0;
  worked.states.push_back(pair_of(0, 0));
  for (std::size_t i = 1; i < inputs.first.size(); ++i) {
    const int number = inputs.first[i];
    if (sum < 0) {
      sum = 0;
      low = static_cast<int>(i);
    }
    sum += number;
    if (sum > best) {
      best = sum;
      best_low = low;
      best_high = static_cast<int>(i);
    }
    if (i + 1 < inputs.first.size()) worked.states.push_back(pair_of(best_low, best_high));
  }
  worked.answer = pair_of(best_low, best_high);
  return worked;
}

}  // namespace

const Algorithm minimum{"minimum", "searching", "min", draw_minimum, minimum_text, work_minimum};
const Algorithm binary_search{"binary_search", "searching", "(low, high)", draw_search, search_text, work_search};
const Algorithm find_maximum_subarray{"find_maximum_subarray", "divide and conquer", "(best_low, best_high)",
                                      draw_subarray,           subarray_text,        work_subarray};

}  // namespace softcheck::experiments
