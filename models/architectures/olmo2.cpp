#include "models/architectures/architectures.hpp"
#include "models/architectures/decoder.hpp"
#include "models/architectures/rotary.hpp"

namespace softcheck::models {

/// OLMo2: no norm before the projections; the queries of all heads are normalised together, and so are the keys.
ModelDescription describe_olmo2(const Checkpoint& checkpoint) {
  CheckpointView view(checkpoint, "olmo2");
  ModelDescription model = decoder_sizes(view);
  const Rotary rotary = read_rotary(view, rope_table(view), model.head_dim, model.context);
  DecoderTraits traits = {
      .bias = view.flag("attention_bias", false), .input_norm = false, .head_norm = HeadNormKind::all_heads};
  traits.rotary = [&](std::int64_t) { return rotary; };
  describe_decoder(view, model, traits);
  return model;
}

}  // namespace softcheck::models
