#include "models/architectures/architectures.hpp"
#include "models/architectures/decoder.hpp"
#include "models/architectures/rotary.hpp"

namespace softcheck::models {

/// GLM and GLM 4: half of a head is rotated, in planes of neighbours.
ModelDescription describe_glm(const Checkpoint& checkpoint) {
  CheckpointView view(checkpoint, *checkpoint.config().text("model_type"));
  ModelDescription model = decoder_sizes(view, {.key_heads = 2, .head_dim = 128});
  Rotary rotary = read_rotary(view, rope_table(view), model.head_dim, model.context,
                              {.partial = 0.5, .partial_key = "partial_rotary_factor"});
  rotary.layout = PlaneLayout::interleaved;
  DecoderTraits traits = {.bias = view.flag("attention_bias", true), .output_bias = false, .epsilon = 0.00000015625};
  traits.rotary = [&](std::int64_t) { return rotary; };
  describe_decoder(view, model, traits);
  return model;
}

}  // namespace softcheck::models
