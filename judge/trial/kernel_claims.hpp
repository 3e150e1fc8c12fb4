#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "judge/op/op.hpp"
#include "proptests/generators/domains/domain.hpp"

namespace softcheck::proptests {

struct JudgeOptions;
struct KernelSubject;

/// The claims on values of the op's rows; for attention those on out, lse and entropy.
std::vector<std::string> value_claims(Op op);

/// Is the claim on a number of a whole row beside an output of vectors: lse, entropy, dsinks?
bool is_scalar_claim(Op op, std::string_view claim);

/// Every claim that the judge may check for a kernel of the op, sorted: those on values, on how a call ended, on masked
/// rows, on NaN and on infinities, and those that --require adds.
std::vector<std::string> kernel_claims(Op op);

/// Has the domain of a kernel of attention a query that sees no key or, of a gradient, a key that no query sees? Else
/// kernel.masked_row is not asked.
bool may_see_nothing(const Domain& domain, bool gradient);

/// The claims that a kernel is known to break, which the judge does not judge.
///
/// throws   std::invalid_argument naming the claims that exist for the op
std::set<std::string> parse_exemptions(const std::vector<std::string>& claims, Op op);

/// The known classes of bugs that these options do not try on this subject, as "what: why".
std::vector<std::string> not_tried_of(const KernelSubject& subject, const JudgeOptions& options);

}  // namespace softcheck::proptests
