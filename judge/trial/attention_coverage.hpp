#pragma once

#include "judge/call/tensor_call.hpp"
#include "judge/op/op.hpp"
#include "proptests/generators/attention/attention_classes.hpp"
#include "proptests/report/coverage.hpp"

namespace softcheck::proptests {

/// The dimensions of the op's calls, with no class covered. If a call always returns all outputs, their number is no
/// dimension.
Coverage attention_coverage(Op op);

/// The sizes of known_attention(), limited to the domain, and scores up to largest_score.
CallSizes attention_sizes(const Domain& domain, double largest_score);
/// Records the sizes of a judged call.
void reach_sizes(CallSizes& sizes, const AttentionCase& attention);

/// Covers the classes of a call that the kernel accepted and the judge judged, except those of a NaN.
///
/// outputs    number of outputs
void meet_classes(Coverage& coverage, Op op, const AttentionCase& attention, std::size_t outputs);
/// Covers the classes of a judged NaN.
void meet_nan(Coverage& coverage, std::uint64_t nan);
/// Records the refusal as the reason for classes that no other call covers.
void excuse_refused(Coverage& coverage, Op op, const AttentionCase& attention);
/// Records that the kernel does not return this many outputs.
void excuse_outputs(Coverage& coverage, Op op, std::size_t outputs);
/// Excuses the classes outside the domain, for which no case can be drawn.
void excuse_impossible(Coverage& coverage, Op op, const AttentionOptions& options, const AttentionBudget& budget);

}  // namespace softcheck::proptests
