#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "judge/trial/kernel_judgement.hpp"

namespace softcheck::proptests {

/// What holds of all rows of one enumeration, or where it ended.
struct ExhaustiveStatement {
  std::string name;  // of the rows: "every pair of bf16 logits, n = 2, theta = 1"
  std::uint64_t rows = 0;
  std::uint64_t judged = 0;  // of these
  ReportVerdict verdict = ReportVerdict::undecided;
  double share = 0;               // of its threshold, at the row below; by enclosures
  double share_at_most = 0;       // that no row uses more of
  std::string claim;              // and of which
  std::string worst;              // the row that share was seen on
  std::string least_exponential;  // the least word of exp= that all rows keep; empty: not measured, or none does
  std::string exponential_at;     // the row that the next lower word allows too little on; empty: there is none
  double seconds = 0;

  /// "every pair of bf16 logits, n = 2, theta = 1: 4294967296 rows within the contract; worst 0.93 of the threshold
  /// (kernel.softmax.element) at row bf16 ..."
  std::string text() const;
};

/// The worst error of the rows of one call, where they stand on an axis.
struct ArgumentError {
  std::size_t enumeration = 0;  // of the statements
  double argument = 0;          // |x|
  double ulps = 0;
  double allowed_ulps = 0;
  double share = 0;
};

struct ExhaustiveJudgement {
  KernelJudgement judgement;
  std::vector<ExhaustiveStatement> statements;
  std::vector<ArgumentError> errors;  // merged to no more than a few hundred for each enumeration
  double processor_seconds = 0;       // of the judge, not of the kernel
};

/// throws   std::invalid_argument naming the ops that have exhaustive effort, unless the subject's is one of them
void require_enumerable(const KernelSubject& subject);

/// Judges all rows of each enumeration: the quick test proves most, enclosures decide the others. Ends at the first row
/// that breaks a claim.
///
/// throws   std::invalid_argument as require_enumerable; KernelLoadError; ResumeError (exhaustive_state.hpp);
///          Interrupted before the kernel was loaded
ExhaustiveJudgement judge_exhaustively(const KernelSubject& subject, const JudgeOptions& options);

/// The worst error of each sixteenth of a binade against |x|, from 2^-30 to 2^10, a line for each enumeration that has
/// arguments, and what the contract allows there; as SVG. Both axes by powers of two and of ten.
///
/// title    a line above it
/// origin   what made it, for the file's description
std::string to_svg(const ExhaustiveJudgement& judgement, const std::string& title, const std::string& origin);

/// The same numbers: "enumeration,argument,worst_ulps,allowed_ulps,share".
std::string to_csv(const ExhaustiveJudgement& judgement, const std::string& origin);

}  // namespace softcheck::proptests
