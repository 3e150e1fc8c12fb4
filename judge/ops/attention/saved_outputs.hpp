#pragma once

#include <vector>

#include "judge/ops/attention/attention_judge.hpp"
#include "proptests/generators/attention/attention.hpp"

namespace softcheck::proptests {

/// What attention's forward pass returns, for a gradient to read.
struct SavedOutputs {
  std::vector<double> out;  // (batch, heads, queries, value_dim), of the inputs' format
  std::vector<double> lse;  // (batch, heads, queries), of task.scalars
};

/// The exact results, each off by a rounding to its format: u / (1 - u) of itself at most. A query that sees no key has
/// output 0 and log-sum-exp -inf; what a NaN reaches is NaN.
SavedOutputs saved_outputs(const AttentionTask& task, const AttentionCase& attention);

}  // namespace softcheck::proptests
