#pragma once

#include <set>
#include <string>

#include "judge/trial/kernel_judgement.hpp"
#include "library/include/softcheck/softcheck.h"

namespace softcheck::library {

/// An option that cannot be read: SOFTCHECK_USAGE.
class UsageError : public std::invalid_argument {
 public:
  using std::invalid_argument::invalid_argument;
};

/// A copy of what the caller gave, of the size that the caller knows; defaults for NULL.
/// throws   UsageError when size is 0 or larger than this version's
softcheck_options options_of(const softcheck_options* given);

/// text, or "" for NULL.
std::string text_of(const char* text);

/// The kernel's op, contract, domain and requirements; its source is left to the caller.
/// throws   UsageError naming the option, what is needed and what was got
proptests::KernelSubject subject_of(const softcheck_options& options);

/// Effort, limits, seed, cases, and the caller's callbacks.
/// throws   UsageError
proptests::JudgeOptions judge_options_of(const softcheck_options& options);

/// throws   UsageError
proptests::Op op_of(const softcheck_options& options);
std::set<std::string> exemptions_of(const softcheck_options& options, proptests::Op op);

}  // namespace softcheck::library
