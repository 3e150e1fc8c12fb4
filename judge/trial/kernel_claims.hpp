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

/// Is the claim on one number per row, next to an output of vectors: lse, entropy, dsinks?
bool is_scalar_claim(Op op, std::string_view claim);

/// Every claim that the judge may check for a kernel of the op, sorted: those on values, on how a call ended, on masked
/// rows, NaN and infinities, and those that --require adds.
std::vector<std::string> kernel_claims(Op op);

/// Does the domain of an attention kernel contain a query that sees no key or, for a gradient, a key that no query
/// sees? If not, kernel.masked_row is not checked.
bool may_see_nothing(const Domain& domain, bool gradient);

/// The claims that a kernel is known to break; the judge does not judge them.
///
/// throws   std::invalid_argument with the list of the op's claims
std::set<std::string> parse_exemptions(const std::vector<std::string>& claims, Op op);

/// The known classes of bugs that these options do not test on this subject, as "what: why".
std::vector<std::string> not_tried_of(const KernelSubject& subject, const JudgeOptions& options);

}  // namespace softcheck::proptests
