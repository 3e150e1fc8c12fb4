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

/// A copy of the caller's options, as many members as the caller's version has; defaults for NULL.
/// throws   UsageError when size is not that of this or an earlier version
softcheck_options options_of(const softcheck_options* given);

/// text, or "" for NULL.
std::string text_of(const char* text);

/// The kernel's op, contract, domain and requirements; the caller sets its source.
/// throws   UsageError naming the option, what it needs and what it got
proptests::KernelSubject subject_of(const softcheck_options& options);

/// Effort, limits, seed, cases, and the caller's callbacks.
/// throws   UsageError
proptests::JudgeOptions judge_options_of(const softcheck_options& options);

/// throws   UsageError
proptests::Op op_of(const softcheck_options& options);
std::set<std::string> exemptions_of(const softcheck_options& options, proptests::Op op);

}  // namespace softcheck::library
