#include <map>
#include <string>

#include "models/architectures/architectures.hpp"
#include "models/architectures/description.hpp"

namespace softcheck::models {
namespace {

// The model_type of a config.json and the file that describes it.
const std::map<std::string, Describe*> architectures = {
    {"bert", describe_bert},       {"roberta", describe_bert}, {"xlm-roberta", describe_bert},
    {"distilbert", describe_bert}, {"gpt2", describe_gpt2},    {"llama", describe_llama},
    {"mistral", describe_llama},   {"qwen2", describe_llama},  {"phi3", describe_llama},
};

}  // namespace

ModelDescription describe(const Checkpoint& checkpoint) {
  const std::optional<std::string> type = checkpoint.config().text("model_type");
  if (!type) throw TensorFileError(checkpoint.config().file() + ": needs the key model_type");
  const auto found = architectures.find(*type);
  if (found != architectures.end()) return found->second(checkpoint);
  std::string known;
  for (const auto& [name, unused] : architectures) known += (known.empty() ? "" : ", ") + name;
  throw UnsupportedTensorFile(checkpoint.config().file() + ": the model_type " + *type + " is not one of " + known);
}

}  // namespace softcheck::models
