#pragma once

#include <memory>
#include <string>
#include <vector>

#include "judge/exhaustive/enumeration.hpp"
#include "judge/trial/kernel_judgement.hpp"

namespace softcheck::proptests {

/// The keys of a query whose scores are enumerated, where the domain has them.
inline constexpr std::size_t usual_score_keys = 16;

/// Every product of a query and a key of one number, in formats of at most 16 bits: all keys but those that are no
/// finite number stand in calls of fifteen neighbours beside a key of 0, which is the first or the last one; each call
/// has all queries, those that are NaN among them. Then every finite query beside one key that is NaN. The values are
/// the rows of the identity, so that a query's output is its weights.
///
/// skipped   appended to: what the domain leaves out
std::vector<std::unique_ptr<Enumeration>> score_enumerations(const KernelSubject& subject, const ArgumentRange& range,
                                                             std::vector<std::string>& skipped);

}  // namespace softcheck::proptests
