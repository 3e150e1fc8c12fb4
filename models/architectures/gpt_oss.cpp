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

/// Routers and experts: no bound depends on them.
void hold_experts(CheckpointView& view, const ModelDescription& model, const std::string& below) {
  const std::int64_t experts = view.count("num_local_experts", 128), inner = view.count("intermediate_size", 2880);
  if (view.count("num_experts_per_tok", 4) > experts) {
    view.malformed("num_experts_per_tok must be at most num_local_experts " + std::to_string(experts));
  }
  view.hold_linear(below + "router", experts, model.hidden, true);
  view.hold(below + "experts.gate_up_proj", {experts, model.hidden, 2 * inner});
  view.hold(below + "experts.gate_up_proj_blocks", {experts, 2 * inner, model.hidden});
  view.hold(below + "experts.gate_up_proj_bias", {experts, 2 * inner});
  view.hold(below + "experts.down_proj", {experts, inner, model.hidden});
  view.hold(below + "experts.down_proj_blocks", {experts, model.hidden, inner});
  view.hold(below + "experts.down_proj_bias", {experts, model.hidden});
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
  traits.hold_more = [&](std::int64_t layer) { hold_experts(view, model, view.layer(layer) + "mlp."); };
  describe_decoder(view, model, traits,
                   {"experts_per_token", "initial_context_length", "output_router_logits", "router_aux_loss_coef",
                    "swiglu_alpha", "swiglu_limit"});
  return model;
}

}  // namespace softcheck::models
