#include "experiments/language/algorithms/problem.hpp"

#include <array>
#include <stdexcept>

#include "experiments/language/algorithms/specifications.hpp"

namespace softcheck::experiments {

std::span<const Algorithm> algorithms() {
  static const std::array all{activity_selector,     bellman_ford, bfs,
                              binary_search,         bubble_sort,  dfs,
                              find_maximum_subarray, heapsort,     insertion_sort,
                              jarvis_march,          lcs_length,   minimum,
                              naive_string_matcher};
  return all;
}

const Algorithm& algorithm_named(std::string_view name) {
  std::string names;
  for (const Algorithm& algorithm : algorithms()) {
    if (algorithm.name == name) return algorithm;
    names += (names.empty() ? "" : ", ") + std::string(algorithm.name);
  }
  throw std::invalid_argument("algorithms: need names out of " + names + ", got '" + std::string(name) + "'");
}

Problem pose(const Algorithm& algorithm, const AlgorithmInputs& inputs) {
  const Worked worked = algorithm.work(inputs);
  Problem problem;
  problem.question = std::string(algorithm.name) + ":\n" + algorithm.input_text(inputs) + ", initial_trace: ";
  problem.trace_begin = problem.question.size();
  problem.question += worked.states.front() + "\ntrace | " + std::string(algorithm.outputs) + ":\n";
  for (std::size_t i = 1; i < worked.states.size(); ++i) {
    problem.response += (i == 1 ? "" : ", ") + worked.states[i];
  }
  problem.response += " | ";
  problem.answer_begin = problem.response.size();
  problem.response += worked.answer + "\n\n";
  return problem;
}

Problem draw_problem(const Algorithm& algorithm, int size, RandomWords& words) {
  if (size < 2 || size > 61) {
    throw std::invalid_argument("draw_problem: need a size from 2 to 61, got " + std::to_string(size));
  }
  return pose(algorithm, algorithm.draw(size, words));
}

}  // namespace softcheck::experiments
