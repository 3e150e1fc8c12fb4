#include "models/architectures/architectures.hpp"
#include "models/architectures/decoder.hpp"
#include "models/architectures/rotary.hpp"

namespace softcheck::models {
namespace {

/// Whether each layer rotates its queries and keys: 1 in no_rope_layers says that it does.
std::vector<bool> rotated_layers(CheckpointView& view, std::int64_t layers) {
  const std::int64_t period = view.count("no_rope_layer_interval", 4);
  std::vector<bool> rotated;
  for (std::int64_t layer = 0; layer < layers; ++layer) rotated.push_back((layer + 1) % period != 0);
  if (!view.has_key("no_rope_layers")) return rotated;
  const std::vector<double> stated = view.numbers("no_rope_layers");
  if (static_cast<std::int64_t>(stated.size()) < layers) {
    view.malformed("the key no_rope_layers must have " + std::to_string(layers) + " numbers, got " +
                   std::to_string(stated.size()));
  }
  for (std::size_t layer = 0; layer < rotated.size(); ++layer) rotated[layer] = stated[layer] != 0;
  return rotated;
}

}  // namespace

/// SmolLM 3: Llama with some layers without positions.
ModelDescription describe_smollm3(const Checkpoint& checkpoint) {
  CheckpointView view(checkpoint, "smollm3");
  ModelDescription model = decoder_sizes(view, {.key_heads = 4});
  view.refuse_flag("use_sliding_window", "windows of this architecture are not described");
  windows_of_qwen(view, model.layers);
  const Rotary rotary = read_rotary(view, rope_table(view), model.head_dim, model.context, {.theta = 2000000});
  const std::vector<bool> rotated = rotated_layers(view, model.layers);
  DecoderTraits traits = {.bias = view.flag("attention_bias", false), .mlp_bias = view.flag("mlp_bias", false)};
  traits.rotary = [&](std::int64_t layer) { return rotated[layer] ? std::optional(rotary) : std::nullopt; };
  describe_decoder(view, model, traits);
  return model;
}

}  // namespace softcheck::models
