#pragma once

#include <string>

#include "judge/call/call_sizes.hpp"
#include "judge/op/op.hpp"
#include "proptests/generators/attention/attention_classes.hpp"
#include "proptests/report/coverage.hpp"

namespace softcheck::proptests {

/// The dimensions of a call of the op, with no class covered yet. Where it always returns all of its outputs, their
/// number is none.
Coverage attention_coverage(Op op);

/// Sizes as far as those of known_attention(), and no farther than the domain; scores up to this one.
CallSizes attention_sizes(const Domain& domain, double largest_score);
/// A judged call had the sizes of this one.
void reach_sizes(CallSizes& sizes, const AttentionCase& attention);

/// The kernel accepted the call and the judge judged it: this covers its classes, except those of a NaN.
///
/// outputs    their number
void meet_classes(Coverage& coverage, Op op, const AttentionCase& attention, std::size_t outputs);
/// A call with this NaN was judged.
void meet_nan(Coverage& coverage, std::uint64_t nan);
/// The kernel refused the call: this is the reason for classes that no other call covers.
void excuse_refused(Coverage& coverage, Op op, const AttentionCase& attention);
/// The kernel does not return so many outputs.
void excuse_outputs(Coverage& coverage, Op op, std::size_t outputs);
/// Classes of which no case can be drawn: they lie outside the domain.
void excuse_impossible(Coverage& coverage, Op op, const AttentionOptions& options, const AttentionBudget& budget);

}  // namespace softcheck::proptests
