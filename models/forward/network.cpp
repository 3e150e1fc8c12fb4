#include "models/forward/network.hpp"

#include <array>
#include <map>
#include <utility>

#include "models/read/file_errors.hpp"

namespace softcheck::models {
namespace {

using DescribeNetwork = Network(const Checkpoint& checkpoint, const ModelDescription& model);

const std::map<std::string, DescribeNetwork*> networks = {{"bert", bert_network},
                                                          {"distilbert", bert_network},
                                                          {"gpt2", gpt2_network},
                                                          {"roberta", bert_network},
                                                          {"xlm-roberta", bert_network}};

// transformers/activations.py, ACT2FN.
constexpr std::array<std::pair<const char*, Activation>, 5> activations = {
    {{"gelu", Activation::gelu},
     {"gelu_new", Activation::gelu_tanh},
     {"gelu_python", Activation::gelu},
     {"gelu_pytorch_tanh", Activation::gelu_tanh},
     {"relu", Activation::relu}}};

}  // namespace

std::optional<Activation> activation_named(const std::string& name) {
  for (const auto& [known, activation] : activations) {
    if (name == known) return activation;
  }
  return std::nullopt;
}

std::string activation_names() {
  std::string names;
  for (const auto& [name, unused] : activations) names += (names.empty() ? "" : ", ") + std::string(name);
  return names;
}

Network describe_network(const Checkpoint& checkpoint, const ModelDescription& model) {
  const auto found = networks.find(model.architecture);
  if (checkpoint.format() == "safetensors" && found != networks.end()) return found->second(checkpoint, model);
  std::string known;
  for (const auto& [name, unused] : networks) known += (known.empty() ? "" : ", ") + name;
  throw UnsupportedTensorFile(checkpoint.path() + ": only " + known + " in safetensors run on tokens, got " +
                              model.architecture + " in " + checkpoint.format());
}

}  // namespace softcheck::models
