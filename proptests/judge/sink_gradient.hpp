#pragma once

#include <functional>
#include <optional>
#include <span>

#include "proptests/generators/attention.hpp"
#include "proptests/judge/attention_judge.hpp"

namespace softcheck::proptests {

/// Judges the gradient by the sink of query head h, -sum p_sink delta over its queries in all batches, by
/// sink_gradient_error (docs/tolerances/attention_backward.md). It is a number of task.scalars. Nothing where a query
/// of the head was not chosen.
///
/// attention   it has sinks
/// chosen      of batch b, query i; empty: all
///
/// Claims: the op's fourth; kernel.masked_row where no query of the head sees a key: the gradient is 0.
std::optional<RowVerdicts> judge_sink_gradient(const AttentionTask& task, const AttentionCase& attention, std::size_t h,
                                               double got,
                                               const std::function<bool(std::size_t b, std::size_t i)>& chosen = {});

}  // namespace softcheck::proptests
