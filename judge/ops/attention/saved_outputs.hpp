#pragma once

#include <vector>

#include "judge/ops/attention/attention_judge.hpp"
#include "proptests/generators/attention/attention.hpp"

namespace softcheck::proptests {

/// The outputs of attention's forward pass that a gradient reads.
struct SavedOutputs {
  std::vector<double> out;  // (batch, heads, queries, value_dim), of the inputs' format
  std::vector<double> lse;  // (batch, heads, queries), of task.scalars
};

/// The exact results, each rounded to its format with a relative error of at most u / (1 - u). A query that sees no key
/// has output 0 and log-sum-exp -inf; results that a NaN reaches are NaN.
SavedOutputs saved_outputs(const AttentionTask& task, const AttentionCase& attention);

}  // namespace softcheck::proptests
