#pragma once

#include "models/architectures/description.hpp"
#include "models/read/checkpoint.hpp"

namespace softcheck::models {

/// Describes the checkpoints of a few model types, as describe() does.
using Describe = ModelDescription(const Checkpoint& checkpoint);

Describe describe_bert;
Describe describe_clip;
Describe describe_deepseek;
Describe describe_esm;
Describe describe_gemma;
Describe describe_gguf;
Describe describe_glm;
Describe describe_gpt2;
Describe describe_gpt_neox;
Describe describe_gpt_oss;
Describe describe_granite;
Describe describe_llama;
Describe describe_modernbert;
Describe describe_olmo2;
Describe describe_qwen3;
Describe describe_smollm3;
Describe describe_t5;
Describe describe_vit;
Describe describe_whisper;

}  // namespace softcheck::models
