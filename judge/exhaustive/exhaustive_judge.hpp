#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "judge/trial/kernel_judgement.hpp"

namespace softcheck::proptests {

/// The result for all rows of one enumeration, or up to where it ended.
struct ExhaustiveStatement {
  std::string name;  // the rows: "every pair of bf16 logits, n = 2, theta = 1"
  std::uint64_t rows = 0;
  std::uint64_t judged = 0;  // of these rows
  ReportVerdict verdict = ReportVerdict::undecided;
  double share = 0;               // used share of the threshold of the row in `worst`, by enclosures
  double share_at_most = 0;       // no row uses more than this share
  std::string claim;              // the claim of that threshold
  std::string worst;              // the row with that share
  std::string least_exponential;  // the smallest word of exp= that all rows keep; empty: not measured, or none
  std::string exponential_at;     // the row that breaks the next smaller word; empty: none
  double seconds = 0;

  /// "every pair of bf16 logits, n = 2, theta = 1: 4294967296 rows within the contract; worst 0.93 of the threshold
  /// (kernel.softmax.element) at row bf16 ..."
  std::string text() const;
};

/// The worst error of one call's rows, and their position on the axis.
struct ArgumentError {
  std::size_t enumeration = 0;  // index of the statement
  double argument = 0;          // |x|
  double ulps = 0;
  double allowed_ulps = 0;
  double share = 0;
};

struct ExhaustiveJudgement {
  KernelJudgement judgement;
  std::vector<ExhaustiveStatement> statements;
  std::vector<ArgumentError> errors;  // merged to at most a few hundred per enumeration
  double processor_seconds = 0;       // the judge's processor time, without the kernel's
};

/// throws   std::invalid_argument with the ops that support exhaustive effort, unless the subject's op is one of them
void require_enumerable(const KernelSubject& subject);

/// Judges all rows of each enumeration. The quick test proves most rows, enclosures decide the rest. Ends at the first
/// row that breaks a claim.
///
/// throws   std::invalid_argument as require_enumerable; KernelLoadError; ResumeError (exhaustive_state.hpp);
///          Interrupted before the kernel was loaded
ExhaustiveJudgement judge_exhaustively(const KernelSubject& subject, const JudgeOptions& options);

/// An SVG of the worst error per sixteenth of a binade over |x|, from 2^-30 to 2^10, with one line for each enumeration
/// of arguments and one for the contract's bound. Both axes are logarithmic.
///
/// title    line above the picture
/// origin   the command and version, for the file's description
std::string to_svg(const ExhaustiveJudgement& judgement, const std::string& title, const std::string& origin);

/// The same numbers as "enumeration,argument,worst_ulps,allowed_ulps,share".
std::string to_csv(const ExhaustiveJudgement& judgement, const std::string& origin);

}  // namespace softcheck::proptests
