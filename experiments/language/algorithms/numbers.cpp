#include <cstdint>

#include "experiments/language/algorithms/specifications.hpp"

namespace softcheck::experiments {
namespace {

template <class Text>
std::string listed(const std::vector<int>& numbers, Text text) {
  std::string list = "[";
  for (std::size_t i = 0; i < numbers.size(); ++i) list += (i == 0 ? "" : " ") + text(numbers[i]);
  return list + "]";
}

}  // namespace

std::string in_two_digits(const std::vector<int>& numbers) {
  return listed(numbers, [](int number) { return (number < 10 ? "0" : "") + std::to_string(number); });
}

std::string in_brackets(const std::vector<int>& numbers) {
  return listed(numbers, [](int number) { return std::to_string(number); });
}

std::string digits(const std::vector<int>& numbers) {
  std::string text = "[";
  for (const int number : numbers) text += std::to_string(number);
  return text + "]";
}

std::string digit_rows(const std::vector<std::vector<int>>& rows) {
  std::string text = "[";
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (i > 0) text += ' ';
    for (const int number : rows[i]) text += std::to_string(number);
  }
  return text + "]";
}

std::string letters(const std::vector<int>& numbers) {
  std::string text;
  for (const int number : numbers) text += static_cast<char>('a' + number);
  return text;
}

std::string pair_of(int first, int second) { return "(" + std::to_string(first) + ", " + std::to_string(second) + ")"; }

int below(RandomWords& words, int bound) {
  return static_cast<int>(uniform_below(words, static_cast<std::uint64_t>(bound)));
}

std::vector<int> numbers_below(RandomWords& words, int count, int bound) {
  std::vector<int> numbers;
  for (int i = 0; i < count; ++i) numbers.push_back(below(words, bound));
  return numbers;
}

}  // namespace softcheck::experiments
