#include "models/architectures/architectures.hpp"
#include "models/architectures/decoder.hpp"
#include "models/architectures/rotary.hpp"

namespace softcheck::models {

/// Granite: Llama with a factor of the scores, of the rows of tokens, of what each part of a layer adds, and of the
/// logits of words.
ModelDescription describe_granite(const Checkpoint& checkpoint) {
  CheckpointView view(checkpoint, "granite");
  ModelDescription model = decoder_sizes(view);
  const Rotary rotary = read_rotary(view, rope_table(view), model.head_dim, model.context);
  const double scale = view.number("attention_multiplier", 1);
  if (!(scale > 0)) view.malformed("attention_multiplier must be > 0");
  DecoderTraits traits = {.bias = view.flag("attention_bias", false),
                          .mlp_bias = view.flag("mlp_bias", false),
                          .rows_as_stored = view.number("embedding_multiplier", 1) == 1,
                          .scale = numerics::Enclosure(scale)};
  traits.rotary = [&](std::int64_t) { return rotary; };
  describe_decoder(view, model, traits, {"logits_scaling", "residual_multiplier"});
  return model;
}

}  // namespace softcheck::models
