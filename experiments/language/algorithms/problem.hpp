#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "experiments/max_retrieval_sets.hpp"

namespace softcheck::experiments {

/// The inputs of an algorithm. Each algorithm reads some of these.
struct AlgorithmInputs {
  std::vector<int> first = {}, second = {};
  int single = 0;
  std::vector<std::vector<int>> matrix = {};  // square
};

/// A run of an algorithm: the states of its trace, beginning with the one in the question, and its answer. A last state
/// that equals the answer is left out.
struct Worked {
  std::vector<std::string> states = {};
  std::string answer = {};
};

/// An executable specification of one algorithm of CLRS-Text.
struct Algorithm {
  std::string_view name;
  std::string_view family;
  std::string_view outputs;  // names of the results in the answer
  /// Inputs of a size, >= 2, as docs/experiments/language.md says.
  AlgorithmInputs (*draw)(int size, RandomWords& words);
  std::string (*input_text)(const AlgorithmInputs& inputs);
  Worked (*work)(const AlgorithmInputs& inputs);
};

/// All of them, in the order of their names.
std::span<const Algorithm> algorithms();

/// throws   std::invalid_argument that lists the names
const Algorithm& algorithm_named(std::string_view name);

/// A problem as CLRS-Text writes it:
///
///     NAME:
///     INPUTS, initial_trace: STATE
///     trace | OUTPUTS:
///     STATE, STATE, ... | ANSWER
///
/// and an empty line. The question ends after the third line.
struct Problem {
  std::string question = {};
  std::size_t trace_begin = 0;  // of the first state, in the question: the text from here on depends only on the inputs
  std::string response = {};    // the rest
  std::size_t answer_begin = 0;  // in the response, after the bar and a space
};

Problem pose(const Algorithm& algorithm, const AlgorithmInputs& inputs);

/// throws   std::invalid_argument for a size below 2 or above 61
Problem draw_problem(const Algorithm& algorithm, int size, RandomWords& words);

}  // namespace softcheck::experiments
