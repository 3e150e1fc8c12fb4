#include "models/architectures/architectures.hpp"
#include "models/architectures/decoder.hpp"
#include "models/architectures/rotary.hpp"

namespace softcheck::models {

/// Qwen3: each head's queries and keys are normalised, so that the projections drop out of every bound.
ModelDescription describe_qwen3(const Checkpoint& checkpoint) {
  CheckpointView view(checkpoint, "qwen3");
  ModelDescription model = decoder_sizes(view, {.head_dim = 128});
  const Rotary rotary = read_rotary(view, rope_table(view), model.head_dim, model.context);
  const std::vector<Window> windows = windows_of_qwen(view, model.layers);
  DecoderTraits traits = {.bias = view.flag("attention_bias", false), .head_norm = HeadNormKind::each_head};
  traits.rotary = [&](std::int64_t) { return rotary; };
  traits.window = [&](std::int64_t layer) { return windows[layer]; };
  describe_decoder(view, model, traits);
  return model;
}

}  // namespace softcheck::models
