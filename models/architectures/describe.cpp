#include <map>
#include <string>

#include "models/architectures/architectures.hpp"
#include "models/architectures/description.hpp"

namespace softcheck::models {
namespace {

// The model_type of a config.json and the file that describes it.
const std::map<std::string, Describe*> architectures = {
    {"bert", describe_bert},
    {"clip", describe_clip},
    {"clip_text_model", describe_clip},
    {"clip_vision_model", describe_clip},
    {"deepseek_v2", describe_deepseek},
    {"deepseek_v3", describe_deepseek},
    {"distilbert", describe_bert},
    {"esm", describe_esm},
    {"gemma", describe_gemma},
    {"gemma2", describe_gemma},
    {"gemma3", describe_gemma},
    {"gemma3_text", describe_gemma},
    {"glm", describe_glm},
    {"glm4", describe_glm},
    {"gpt2", describe_gpt2},
    {"gpt_neox", describe_gpt_neox},
    {"gpt_oss", describe_gpt_oss},
    {"granite", describe_granite},
    {"kimi_k2", describe_deepseek},
    {"llama", describe_llama},
    {"mistral", describe_llama},
    {"modernbert", describe_modernbert},
    {"mt5", describe_t5},
    {"olmo2", describe_olmo2},
    {"phi3", describe_llama},
    {"qwen2", describe_llama},
    {"qwen3", describe_qwen3},
    {"qwen3_moe", describe_qwen3},
    {"roberta", describe_bert},
    {"siglip", describe_clip},
    {"siglip_text_model", describe_clip},
    {"siglip_vision_model", describe_clip},
    {"smollm3", describe_smollm3},
    {"t5", describe_t5},
    {"vit", describe_vit},
    {"whisper", describe_whisper},
    {"xlm-roberta", describe_bert},
};

// Those that people have and no bound is known of, and why.
const std::map<std::string, std::string> refused = {
    {"bloom", "ALiBi: scores grow with the distance of two items"},
    {"llama4", "attn_temperature_tuning: scores are multiplied by the logarithm of the position"},
    {"mpt", "ALiBi: scores grow with the distance of two items"},
};

}  // namespace

ModelDescription describe(const Checkpoint& checkpoint) {
  if (checkpoint.format() == "gguf") return describe_gguf(checkpoint);
  const std::optional<std::string> type = checkpoint.config().text("model_type");
  if (!type) throw TensorFileError(checkpoint.config().file() + ": needs the key model_type");
  const auto found = architectures.find(*type);
  if (found != architectures.end()) return found->second(checkpoint);
  if (const auto why = refused.find(*type); why != refused.end()) {
    throw UnsupportedTensorFile(checkpoint.config().file() + ": the model_type " + *type +
                                " is not described: " + why->second);
  }
  std::string known;
  for (const auto& [name, unused] : architectures) known += (known.empty() ? "" : ", ") + name;
  throw UnsupportedTensorFile(checkpoint.config().file() + ": the model_type " + *type + " is not one of " + known);
}

}  // namespace softcheck::models
