#include <string>

#include "models/architectures/heads.hpp"
#include "models/architectures/view.hpp"
#include "models/forward/network.hpp"

namespace softcheck::models {
namespace {

// A Conv1D has its inputs as rows.
Linear conv1d(CheckpointView& view, const std::string& name, std::int64_t inputs, std::int64_t outputs) {
  return {.weights = {.tensor = view.matrix(name + ".weight", inputs, outputs),
                      .outputs = {0, outputs},
                      .transposed = true},
          .bias = view.vector(name + ".bias", outputs)};
}

}  // namespace

Network gpt2_network(const Checkpoint& checkpoint, const ModelDescription& model) {
  CheckpointView view(checkpoint, model.architecture);
  view.find_prefix("wte.weight");
  view.layers_at("h.", model.layers);
  Network network;
  network.embeddings.vocabulary = view.count("vocab_size");
  network.embeddings.words = view.matrix("wte.weight", network.embeddings.vocabulary, model.hidden);
  network.embeddings.positions = view.matrix("wpe.weight", model.context, model.hidden);
  network.epsilon = view.epsilon("layer_norm_epsilon", 1e-5);
  network.activation = known_activation(view, "activation_function", "gelu_new");
  const std::int64_t inner = view.count("n_inner", 4 * model.hidden);
  for (std::int64_t layer = 0; layer < model.layers; ++layer) {
    const std::string below = view.layer(layer);
    Block& block = network.blocks.emplace_back(block_of_heads(model, layer));
    // One projection has the queries, then the keys, then the values of all heads.
    block.value = block.key;
    block.value.weights.outputs.first = block.value.bias.entries.first = 2 * model.hidden;
    block.output = conv1d(view, below + "attn.c_proj", model.hidden, model.hidden);
    block.middle_norm = layer_norm(view, below + "ln_2", model.hidden);
    block.up = conv1d(view, below + "mlp.c_fc", model.hidden, inner);
    block.down = conv1d(view, below + "mlp.c_proj", inner, model.hidden);
  }
  return network;
}

}  // namespace softcheck::models
