#pragma once

#include <filesystem>
#include <stdexcept>
#include <string>
#include <vector>

namespace softcheck::proptests {

/// The extracted judge did not answer: it could not be started, took too long, or could not read a question.
class JudgeUnavailable : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// The judge that is proved in theory/proofs/judge/ and extracted to OCaml, as a program that is asked over a pipe.
class ExtractedJudge {
 public:
  /// program   softcheck-extracted-judge
  /// seconds   that one answer may take
  explicit ExtractedJudge(std::filesystem::path program, double seconds = 120);

  const std::filesystem::path& program() const { return program_; }
  bool exists() const;

  /// One process for all lines: the verdicts of all questions, in order.
  ///
  /// lines    of judge_question.hpp
  /// returns  true for each output that is proved to be of no kernel of its contract
  /// throws   JudgeUnavailable
  std::vector<bool> ask(const std::string& lines) const;

 private:
  std::filesystem::path program_;
  double seconds_;
};

}  // namespace softcheck::proptests
