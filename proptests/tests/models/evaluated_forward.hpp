#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "models/read/checkpoint.hpp"
#include "proptests/tests/models/running_bound.hpp"

namespace softcheck::models {

using BoundRow = std::vector<Float64Bound>;
using BoundRows = std::vector<BoundRow>;

/// What one layer's heads have.
struct EvaluatedLayer {
  BoundRows query, key;                 // (tokens, hidden)
  std::vector<BoundRows> coefficients;  // of each head (queries, keys that the query sees)
};

/// BERT, RoBERTa, XLM-RoBERTa, DistilBERT or GPT-2 run forward on ids, by their own names and formulas as transformers
/// 5.23 has them, each number with a bound on how far a computation in f64 lies from it. A second evaluation: nothing
/// of models/ is used but the reader of tensors and keys.
std::vector<EvaluatedLayer> evaluated_forward(const Checkpoint& checkpoint, const std::vector<std::int64_t>& ids);

/// Coefficients of scores.
BoundRow evaluated_softmax(const BoundRow& scores);

/// What a name of transformers stands for: "gelu", "gelu_new" or "relu".
Float64Bound evaluated_activation(const std::string& name, const Float64Bound& x);

}  // namespace softcheck::models
