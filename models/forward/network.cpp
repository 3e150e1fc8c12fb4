#include "models/forward/network.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <future>
#include <map>
#include <numbers>
#include <stdexcept>
#include <utility>
#include <vector>

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

// From the first head's rows to those of all.
Linear all_heads(MatrixPlace weights, VectorPlace bias, std::int64_t hidden) {
  weights.outputs.count = hidden;
  bias.entries.count = hidden;
  return {weights, bias};
}

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

Block block_of_heads(const ModelDescription& model, std::int64_t layer) {
  const HeadDescription& first = model.head_list.at(static_cast<std::size_t>(layer * model.heads));
  return {.attention = first,
          .query = all_heads(first.query, first.query_bias, model.hidden),
          .key = all_heads(first.key, first.key_bias, model.hidden)};
}

Activation known_activation(CheckpointView& view, const std::string& key, const std::string& fallback) {
  const std::string name = view.text(key).value_or(fallback);
  if (const std::optional<Activation> activation = activation_named(name)) return *activation;
  view.unsupported("the key " + key + " names the activation " + name + "; " + activation_names() + " run on tokens");
}

double activate(Activation activation, double x) {
  switch (activation) {
    case Activation::gelu:
      // Phi by erfc: 1 + erf would cancel where x is far below 0.
      return x / 2 * std::erfc(-x / std::numbers::sqrt2);
    case Activation::gelu_tanh:
      // (1 + tanh y) / 2 = 1 / (1 + e^(-2 y)), which does not cancel.
      return x / (1 + std::exp(-2 * std::sqrt(2 / std::numbers::pi) * (x + 0.044715 * x * x * x)));
    case Activation::relu:
      return std::max(x, 0.0);
  }
  throw std::logic_error("activate: an Activation without a formula");
}

void in_parallel(std::size_t count, unsigned threads, const std::function<void(std::size_t)>& job) {
  std::atomic<std::size_t> next = 0;
  const auto work = [&] {
    for (std::size_t i = next++; i < count; i = next++) job(i);
  };
  std::vector<std::future<void>> others;
  for (std::size_t t = 1; t < std::min<std::size_t>(threads, count); ++t) {
    others.push_back(std::async(std::launch::async, work));
  }
  work();
  for (std::future<void>& other : others) other.get();
}

}  // namespace softcheck::models
