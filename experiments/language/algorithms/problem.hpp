#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "experiments/max_retrieval_sets.hpp"

namespace softcheck::experiments {

/// What an algorithm is given. Each algorithm says which of these it reads.
struct AlgorithmInputs {
  std::vector<int> first = {}, second = {};
  int single = 0;
  std::vector<std::vector<int>> matrix = {};  // square
};

/// An algorithm at work: the states of its trace, first the one that the question shows, and its answer. A last state
/// that the answer repeats is left out.
struct Worked {
  std::vector<std::string> states = {};
  std::string answer = {};
};

/// An executable specification of one algorithm of CLRS-Text.
struct Algorithm {
  std::string_view name;
  std::string_view family;
  std::string_view outputs;  // names of what is asked for
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
/// and an empty line. The question ends behind the third line.
struct Problem {
  std::string question = {};
  std::size_t trace_begin = 0;   // of the first state, in the question: what follows depends on the inputs alone
  std::string response = {};     // the rest
  std::size_t answer_begin = 0;  // in the response, behind the bar and a space
};

Problem pose(const Algorithm& algorithm, const AlgorithmInputs& inputs);

/// throws   std::invalid_argument for a size below 2 or above 61
Problem draw_problem(const Algorithm& algorithm, int size, RandomWords& words);

}  // namespace softcheck::experiments
