#include <string>

#include "models/architectures/heads.hpp"
#include "models/architectures/view.hpp"
#include "models/forward/network.hpp"

namespace softcheck::models {
namespace {

/// What BERT and RoBERTa, and DistilBERT, call the parts that a head's description does not name.
struct EncoderParts {
  std::string layer_path;
  std::string value, output, middle_norm, up, down;  // below a layer
  std::string inner_width, activation;               // keys
};

const EncoderParts bert_parts = {.layer_path = "encoder.layer.",
                                 .value = "attention.self.value",
                                 .output = "attention.output.dense",
                                 .middle_norm = "attention.output.LayerNorm",
                                 .up = "intermediate.dense",
                                 .down = "output.dense",
                                 .inner_width = "intermediate_size",
                                 .activation = "hidden_act"};
const EncoderParts distilbert_parts = {.layer_path = "transformer.layer.",
                                       .value = "attention.v_lin",
                                       .output = "attention.out_lin",
                                       .middle_norm = "sa_layer_norm",
                                       .up = "ffn.lin1",
                                       .down = "ffn.lin2",
                                       .inner_width = "hidden_dim",
                                       .activation = "activation"};

Linear linear(CheckpointView& view, const std::string& name, std::int64_t outputs, std::int64_t inputs) {
  return {.weights = {.tensor = view.matrix(name + ".weight", outputs, inputs), .outputs = {0, outputs}},
          .bias = view.vector(name + ".bias", outputs)};
}

Embeddings embeddings(CheckpointView& view, std::int64_t hidden) {
  const std::int64_t positions = view.count("max_position_embeddings", 512);
  Embeddings result;
  result.vocabulary = view.count("vocab_size");
  result.words = view.matrix("embeddings.word_embeddings.weight", result.vocabulary, hidden);
  result.positions = view.matrix("embeddings.position_embeddings.weight", positions, hidden);
  if (view.architecture() != "distilbert") {
    result.types = view.matrix("embeddings.token_type_embeddings.weight", view.count("type_vocab_size", 2), hidden);
  }
  if (view.architecture().ends_with("roberta")) {
    result.padding = view.checkpoint().config().integer(view.key("pad_token_id")).value_or(1);
  }
  return result;
}

}  // namespace

Network bert_network(const Checkpoint& checkpoint, const ModelDescription& model) {
  CheckpointView view(checkpoint, model.architecture);
  const bool distilled = model.architecture == "distilbert";
  const EncoderParts& parts = distilled ? distilbert_parts : bert_parts;
  const double stated = view.epsilon("layer_norm_eps", 1e-12);
  view.find_prefix("embeddings.word_embeddings.weight");
  view.layers_at(parts.layer_path, model.layers);
  Network network = {.embeddings = embeddings(view, model.hidden),
                     .epsilon = distilled ? 1e-12 : stated,  // DistilBERT reads no key of it
                     .activation = known_activation(view, parts.activation, "gelu"),
                     .residual_is_normed = true};
  const std::int64_t inner = view.count(parts.inner_width, 3072);
  for (std::int64_t layer = 0; layer < model.layers; ++layer) {
    const std::string below = view.layer(layer);
    Block& block = network.blocks.emplace_back(block_of_heads(model, layer));
    block.value = linear(view, below + parts.value, model.hidden, model.hidden);
    block.output = linear(view, below + parts.output, model.hidden, model.hidden);
    block.middle_norm = layer_norm(view, below + parts.middle_norm, model.hidden);
    block.up = linear(view, below + parts.up, inner, model.hidden);
    block.down = linear(view, below + parts.down, model.hidden, inner);
  }
  return network;
}

}  // namespace softcheck::models
