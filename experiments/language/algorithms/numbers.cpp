#include <cstdint>
#include <stdexcept>
#include <string_view>

#include "experiments/language/algorithms/specifications.hpp"

namespace softcheck::experiments {

char symbol(int number) {
  constexpr std::string_view symbols = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
  static_assert(symbols.size() == symbol_count);
  if (number < 0 || number >= symbol_count) {
    throw std::invalid_argument("symbol: need a number from 0 to 61, got " + std::to_string(number));
  }
  return symbols[static_cast<std::size_t>(number)];
}

std::string listed(const std::vector<int>& numbers) {
  std::string text = "[";
  for (const int number : numbers) text += symbol(number);
  return text + "]";
}

std::string listed_with_signs(const std::vector<int>& numbers) {
  std::string text = "[";
  for (const int number : numbers) {
    text += number < 0 ? '-' : '+';
    text += symbol(number < 0 ? -number : number);
  }
  return text + "]";
}

std::string listed_rows(const std::vector<std::vector<int>>& rows) {
  std::string text = "[";
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (i > 0) text += ' ';
    for (const int number : rows[i]) text += symbol(number);
  }
  return text + "]";
}

std::string letters(const std::vector<int>& numbers) {
  std::string text;
  for (const int number : numbers) text += static_cast<char>('a' + number);
  return text;
}

std::string pair_of(int first, int second) { return std::string("(") + symbol(first) + ", " + symbol(second) + ")"; }

int below(RandomWords& words, int bound) {
  return static_cast<int>(uniform_below(words, static_cast<std::uint64_t>(bound)));
}

std::vector<int> numbers_below(RandomWords& words, int count, int bound) {
  std::vector<int> numbers;
  for (int i = 0; i < count; ++i) numbers.push_back(below(words, bound));
  return numbers;
}

}  // namespace softcheck::experiments
