#pragma once

#include <filesystem>
#include <stdexcept>
#include <string>
#include <vector>

namespace softcheck::proptests {

/// The extracted judge did not answer: it could not start, took too long, or could not parse a question.
class JudgeUnavailable : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// The judge that theory/proofs/judge/ proves and Coq extracts to OCaml, as a program that answers over a pipe.
class ExtractedJudge {
 public:
  /// program   softcheck-extracted-judge
  /// seconds   time limit per answer
  explicit ExtractedJudge(std::filesystem::path program, double seconds = 120);

  const std::filesystem::path& program() const { return program_; }
  bool exists() const;

  /// The verdicts on all questions, in order, from one process.
  ///
  /// lines    in the form of judge_question.hpp
  /// returns  true for each output that provably comes from no kernel of its contract
  /// throws   JudgeUnavailable
  std::vector<bool> ask(const std::string& lines) const;

 private:
  std::filesystem::path program_;
  double seconds_;
};

}  // namespace softcheck::proptests
