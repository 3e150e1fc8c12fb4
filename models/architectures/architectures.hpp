#pragma once

#include "models/architectures/description.hpp"
#include "models/read/checkpoint.hpp"

namespace softcheck::models {

/// Describes the checkpoints of a few model types, as describe() does.
using Describe = ModelDescription(const Checkpoint& checkpoint);

Describe describe_bert;
Describe describe_gpt2;
Describe describe_llama;

}  // namespace softcheck::models
