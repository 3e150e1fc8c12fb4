#pragma once

#include <cstdint>
#include <vector>

#include "models/architectures/description.hpp"
#include "models/read/checkpoint.hpp"
#include "proptests/tests/models/evaluated_forward.hpp"

namespace softcheck::models {

/// What a decoder makes of an input.
struct EvaluatedDecoder {
  std::vector<EvaluatedLayer> layers;  // query and key (tokens, heads head_dim) and (tokens, key heads head_dim)
  BoundRow logits;                     // of the token behind the input
};

/// A decoder of Llama's layout run forward on ids, by transformers' (of gguf-llama llama.cpp's) names and formulas,
/// each number with a bound on how far a computation in f64 lies from it. Scales, windows, caps and frequencies are the
/// description's, which other tests hold to transformers.
EvaluatedDecoder evaluated_decoder(const Checkpoint& checkpoint, const ModelDescription& model,
                                   const std::vector<std::int64_t>& ids);

}  // namespace softcheck::models
