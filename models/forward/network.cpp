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

/// The model types of each format.
using Networks = std::map<std::string, DescribeNetwork*>;
const std::map<std::string, Networks> networks = {{"safetensors",
                                                   {{"bert", bert_network},
                                                    {"distilbert", bert_network},
                                                    {"gemma", decoder_network},
                                                    {"gemma2", decoder_network},
                                                    {"gemma3", decoder_network},
                                                    {"gemma3_text", decoder_network},
                                                    {"gpt2", gpt2_network},
                                                    {"gpt_oss", decoder_network},
                                                    {"llama", decoder_network},
                                                    {"mistral", decoder_network},
                                                    {"olmo2", decoder_network},
                                                    {"phi3", decoder_network},
                                                    {"qwen2", decoder_network},
                                                    {"qwen3", decoder_network},
                                                    {"roberta", bert_network},
                                                    {"xlm-roberta", bert_network}}},
                                                  {"gguf",
                                                   {{"gemma", decoder_network},
                                                    {"gemma2", decoder_network},
                                                    {"gemma3", decoder_network},
                                                    {"llama", decoder_network},
                                                    {"olmo2", decoder_network},
                                                    {"phi3", decoder_network},
                                                    {"qwen2", decoder_network},
                                                    {"qwen3", decoder_network}}}};

// transformers/activations.py, ACT2FN.
constexpr std::array<std::pair<const char*, Activation>, 7> activations = {
    {{"gelu", Activation::gelu},
     {"gelu_new", Activation::gelu_tanh},
     {"gelu_python", Activation::gelu},
     {"gelu_pytorch_tanh", Activation::gelu_tanh},
     {"relu", Activation::relu},
     {"silu", Activation::silu},
     {"swish", Activation::silu}}};

// From the first head's rows to those of all.
Linear all_heads(MatrixPlace weights, VectorPlace bias, std::int64_t rows) {
  weights.outputs.count = rows;
  bias.entries.count = rows;
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
  const auto format = networks.find(checkpoint.format());
  if (format == networks.end()) {
    throw UnsupportedTensorFile(checkpoint.path() + ": no model of the format " + checkpoint.format() +
                                " runs on tokens");
  }
  const auto found = format->second.find(model.architecture);
  if (found != format->second.end()) return found->second(checkpoint, model);
  std::string known;
  for (const auto& [name, unused] : format->second) known += (known.empty() ? "" : ", ") + name;
  throw UnsupportedTensorFile(checkpoint.path() + ": in " + checkpoint.format() + " only " + known +
                              " run on tokens, got " + model.architecture);
}

Block block_of_heads(const ModelDescription& model, std::int64_t layer) {
  const HeadDescription& first = model.head_list.at(static_cast<std::size_t>(layer * model.heads));
  Block block = {.attention = first,
                 .query = all_heads(first.query, first.query_bias, model.heads * model.head_dim),
                 .key = all_heads(first.key, first.key_bias, model.key_heads * model.head_dim)};
  if (!block.attention.sink.tensor.empty()) block.attention.sink.entries = {0, model.heads};
  if (block.attention.head_norm) {
    HeadNorm& norm = *block.attention.head_norm;
    norm.query_gain.entries = {0, norm.query_width};
    norm.key_gain.entries = {0, norm.key_width};
  }
  return block;
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
    case Activation::silu:
      return x / (1 + std::exp(-x));
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
