#pragma once

#include <string>

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
