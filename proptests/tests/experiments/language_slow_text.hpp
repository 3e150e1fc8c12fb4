#pragma once

#include <optional>
#include <sstream>
#include <string>
#include <vector>

namespace softcheck::experiments {

/// What an algorithm does with a question, by another and slower way that reads nothing but the question's text.
struct SlowAnswer {
  std::string first_state;
  std::string response;  // all that follows the question
  std::string answer;
};

/// throws   std::out_of_range where there is no such algorithm
SlowAnswer slow_answer(const std::string& algorithm, const std::string& question);

}  // namespace softcheck::experiments

// How the slow ways read a question and write states: no code of experiments/language.
namespace softcheck::experiments::slow {

using Numbers = std::vector<int>;
using Rows = std::vector<Numbers>;

// 0 to 9, then A to Z, then a to z; -1 for what stands between them in ASCII.
inline int number_of(char symbol) {
  if (symbol >= '0' && symbol <= '9') return symbol - '0';
  if (symbol >= 'A' && symbol <= 'Z') return symbol - 'A' + 10;
  return symbol >= 'a' && symbol <= 'z' ? symbol - 'a' + 36 : -1;
}

// What a question says, read from its text alone.
class CallDescription {
 public:
  explicit CallDescription(const std::string& question) : line_(question.substr(question.find('\n') + 1)) {}

  std::string word(const std::string& name) const {
    const std::size_t begin = line_.find(name + ": ") + name.size() + 2;
    return line_.substr(begin, line_.find_first_of(",\n", begin) - begin);
  }
  int number(const std::string& name) const { return number_of(word(name).at(0)); }
  Numbers list(const std::string& name) const {
    Numbers numbers;
    for (const char symbol : within_brackets(name)) numbers.push_back(number_of(symbol));
    return numbers;
  }
  Numbers list_with_signs(const std::string& name) const {
    std::istringstream inside(within_brackets(name));
    Numbers numbers;
    for (int number = 0; inside >> number;) numbers.push_back(number);
    return numbers;
  }
  Rows matrix() const {
    std::istringstream inside(within_brackets("A"));
    Rows rows;
    for (std::string row; inside >> row;) {
      rows.emplace_back();
      for (const char symbol : row) rows.back().push_back(number_of(symbol));
    }
    return rows;
  }

 private:
  std::string within_brackets(const std::string& name) const {
    const std::size_t begin = line_.find(name + ": [") + name.size() + 3;
    return line_.substr(begin, line_.find(']', begin) - begin);
  }

  std::string line_;
};

inline std::string one(int number) {
  for (char symbol = '0'; symbol <= 'z'; ++symbol) {
    if (number_of(symbol) == number) return {symbol};
  }
  return "?";
}
inline std::string all(const Numbers& numbers) {
  std::string text = "[";
  for (const int number : numbers) text += one(number);
  return text + "]";
}
inline std::string pair(int a, int b) { return "(" + one(a) + ", " + one(b) + ")"; }

struct Expected {
  std::vector<std::string> states;         // all, first and last, too
  std::optional<std::string> answer = {};  // where it is not the last state
};

Expected slow_bfs(const CallDescription& asked);
Expected slow_dfs(const CallDescription& asked);
Expected slow_bellman_ford(const CallDescription& asked);
Expected slow_hull(const CallDescription& asked);

}  // namespace softcheck::experiments::slow
