#pragma once

#include <cstddef>
#include <filesystem>
#include <stdexcept>
#include <string>
#include <vector>

#include "judge/call/evidence.hpp"
#include "judge/trial/kernel_judgement.hpp"
#include "numerics/enclosures/certificate.hpp"

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


/// The extracted judge's answers for the failures of one judgement, each value counted once.
struct CertificationSummary {
  std::size_t proved = 0;
  std::size_t not_covered = 0;
  std::size_t disagreements = 0;  // this judge says fail, the extracted one does not

  /// "2 proved by the extracted judge, 1 not covered"; disagreements come first.
  std::string text() const;
};

/// Asks the extracted judge about every failed certificate, and adds its answers to their evidence.
///
/// subject    of the judgement
/// judge      its program must exist
CertificationSummary certify_failures(const KernelSubject& subject, const ExtractedJudge& judge,
                                      KernelJudgement& judgement);

/// The answer about one failed certificate.
Certification certified(const KernelSubject& subject, const ExtractedJudge& judge,
                        const numerics::Certificate& certificate);

}  // namespace softcheck::proptests
