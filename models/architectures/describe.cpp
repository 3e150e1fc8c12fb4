#include <map>
#include <string>

#include "models/architectures/architectures.hpp"
#include "models/architectures/description.hpp"

namespace softcheck::models {
namespace {

// The model_type of a config.json and the file that describes it.
const std::map<std::string, Describe*> architectures = {
    {"bert", describe_bert},    {"distilbert", describe_bert},   {"gemma", describe_gemma},
    {"gemma2", describe_gemma}, {"gemma3", describe_gemma},      {"gemma3_text", describe_gemma},
    {"gpt2", describe_gpt2},    {"gpt_neox", describe_gpt_neox}, {"gpt_oss", describe_gpt_oss},
    {"llama", describe_llama},  {"mistral", describe_llama},     {"olmo2", describe_olmo2},
    {"phi3", describe_llama},   {"qwen2", describe_llama},       {"qwen3", describe_qwen3},
    {"roberta", describe_bert}, {"vit", describe_vit},           {"xlm-roberta", describe_bert},
};

}  // namespace

ModelDescription describe(const Checkpoint& checkpoint) {
  if (checkpoint.format() == "gguf") return describe_gguf(checkpoint);
  const std::optional<std::string> type = checkpoint.config().text("model_type");
  if (!type) throw TensorFileError(checkpoint.config().file() + ": needs the key model_type");
  const auto found = architectures.find(*type);
  if (found != architectures.end()) return found->second(checkpoint);
  std::string known;
  for (const auto& [name, unused] : architectures) known += (known.empty() ? "" : ", ") + name;
  throw UnsupportedTensorFile(checkpoint.config().file() + ": the model_type " + *type + " is not one of " + known);
}

}  // namespace softcheck::models
