#pragma once

#include <string>

#include "judge/exhaustive/exhaustive_judge.hpp"

namespace softcheck::proptests {

/// The worst error of each sixteenth of a binade against |x|, from 2^-30 to 2^10, a line for each enumeration that has
/// arguments, and what the contract allows there; as SVG. Both axes by powers of two and of ten.
///
/// title    a line above it
/// origin   what made it, for the file's description
std::string to_svg(const ExhaustiveJudgement& judgement, const std::string& title, const std::string& origin);

/// The same numbers: "enumeration,argument,worst_ulps,allowed_ulps,share".
std::string to_csv(const ExhaustiveJudgement& judgement, const std::string& origin);

}  // namespace softcheck::proptests
