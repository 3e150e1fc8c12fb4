// insertion_sort, bubble_sort, heapsort: the key after each round of the outer loop.
#include <utility>

#include "experiments/language/algorithms/specifications.hpp"

namespace softcheck::experiments {
namespace {

AlgorithmInputs draw_key(int size, RandomWords& words) { return {.first = numbers_below(words, size, symbol_count)}; }

std::string key_text(const AlgorithmInputs& inputs) { return "key: " + listed(inputs.first); }

// The last state is the answer.
Worked sorted(std::vector<std::string> states) {
  std::string answer = states.back();
  if (states.size() > 1) states.pop_back();
  return {std::move(states), std::move(answer)};
}

Worked work_insertion_sort(const AlgorithmInputs& inputs) {
  std::vector<int> key = inputs.first;
  std::vector<std::string> states{listed(key)};
  for (std::size_t j = 1; j < key.size(); ++j) {
    const int moved = key[j];
    std::size_t i = j;
    for (; i > 0 && key[i - 1] > moved; --i) key[i] = key[i - 1];
    key[i] = moved;
    states.push_back(listed(key));
  }
  return sorted(std::move(states));
}

Worked work_bubble_sort(const AlgorithmInputs& inputs) {
  std::vector<int> key = inputs.first;
  std::vector<std::string> states{listed(key)};
  for (std::size_t i = 0; i + 1 < key.size(); ++i) {
    for (std::size_t j = key.size() - 1; j > i; --j) {
      if (key[j] < key[j - 1]) std::swap(key[j], key[j - 1]);
    }
    states.push_back(listed(key));
  }
  return sorted(std::move(states));
}

// MAX-HEAPIFY: key[at] sinks among the first size numbers.
void sink(std::vector<int>& key, std::size_t at, std::size_t size) {
  for (;;) {
    const std::size_t left = 2 * at + 1, right = left + 1;
    std::size_t largest = at;
    if (left < size && key[left] > key[largest]) largest = left;
    if (right < size && key[right] > key[largest]) largest = right;
    if (largest == at) return;
    std::swap(key[at], key[largest]);
    at = largest;
  }
}

// The heap once it is built, then the key after each number that is taken off it.
Worked work_heapsort(const AlgorithmInputs& inputs) {
  std::vector<int> key = inputs.first;
  std::vector<std::string> states{listed(key)};
  for (std::size_t i = key.size() / 2; i-- > 0;) sink(key, i, key.size());
  states.push_back(listed(key));
  for (std::size_t size = key.size() - 1; size > 0; --size) {
    std::swap(key[0], key[size]);
    sink(key, 0, size);
    states.push_back(listed(key));
  }
  return sorted(std::move(states));
}

}  // namespace

const Algorithm insertion_sort{"insertion_sort", "sorting", "pred", draw_key, key_text, work_insertion_sort};
const Algorithm bubble_sort{"bubble_sort", "sorting", "pred", draw_key, key_text, work_bubble_sort};
const Algorithm heapsort{"heapsort", "sorting", "pred", draw_key, key_text, work_heapsort};

}  // namespace softcheck::experiments
