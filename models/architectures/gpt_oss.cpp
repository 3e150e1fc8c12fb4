#include <string>

#include "models/architectures/architectures.hpp"
#include "models/architectures/decoder.hpp"
#include "models/architectures/rotary.hpp"

namespace softcheck::models {
namespace {

/// The published files quantise the experts alone (MXFP4). Nothing else is known of a quantisation.
void check_quantisation(CheckpointView& view) {
  if (!view.has_key("quantization_config")) return;
  const auto kept = view.texts("quantization_config.modules_to_not_convert");
  const bool of_experts = view.text("quantization_config.quant_method") == "mxfp4" && kept &&
                          std::find(kept->begin(), kept->end(), "model.layers.*.self_attn") != kept->end();
  if (!of_experts) view.unsupported("the key quantization_config quantises the attention");
}

}  // namespace

/// gpt-oss: every other layer has a window, each head a sink.
ModelDescription describe_gpt_oss(const Checkpoint& checkpoint) {
  CheckpointView view(checkpoint, "gpt_oss");
  ModelDescription model = decoder_sizes(view, {.head_dim = 64});
  const std::string table = rope_table(view);
  if (table.empty()) view.malformed("the key rope_parameters or rope_scaling is missing");
  const Rotary rotary = read_rotary(view, table, model.head_dim, model.context, {.theta = 150000});
  const std::vector<Window> windows = alternate_windows(view, model.layers, 2, 128);
  check_quantisation(view);
  DecoderTraits traits = {.bias = view.flag("attention_bias", true), .epsilon = 1e-5, .sinks = true};
  traits.rotary = [&](std::int64_t) { return rotary; };
  traits.window = [&](std::int64_t layer) { return windows[layer]; };
  describe_decoder(view, model, traits,
                   {"experts_per_token", "initial_context_length", "num_experts_per_tok", "num_local_experts",
                    "output_router_logits", "router_aux_loss_coef", "swiglu_alpha", "swiglu_limit"});
  return model;
}

}  // namespace softcheck::models
