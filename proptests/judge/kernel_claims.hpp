#pragma once

#include <set>
#include <string>
#include <vector>

#include "proptests/judge/op.hpp"

namespace softcheck::proptests {

/// The claims on values that rows of the op are judged by; of attention those on out, lse and entropy.
std::vector<std::string> value_claims(Op op);

/// Every claim that a kernel of the op may be judged by, sorted: those on values, on how a call went, on masked rows,
/// on NaN and on infinities, and those that --require adds.
std::vector<std::string> kernel_claims(Op op);

/// The claims that a kernel is known to break and is not judged by.
///
/// throws   std::invalid_argument naming the claims that exist for the op
std::set<std::string> parse_exemptions(const std::vector<std::string>& claims, Op op);

}  // namespace softcheck::proptests
