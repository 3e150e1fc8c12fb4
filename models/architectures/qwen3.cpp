#include "models/architectures/architectures.hpp"
#include "models/architectures/decoder.hpp"
#include "models/architectures/rotary.hpp"

namespace softcheck::models {
namespace {

/// Of all layers alike, whatever max_window_layers says: as transformers runs the model with experts.
std::vector<Window> windows_of_experts(CheckpointView& view, std::int64_t layers) {
  Window window;
  view.key("max_window_layers");
  view.key("sliding_window");
  if (view.flag("use_sliding_window", false)) window = static_cast<std::uint64_t>(view.count("sliding_window", 4096));
  return std::vector<Window>(static_cast<std::size_t>(layers), window);
}

}  // namespace

/// Qwen3, with experts or without: each head's queries and keys are normalised, so that the projections drop out of
/// every bound.
ModelDescription describe_qwen3(const Checkpoint& checkpoint) {
  CheckpointView view(checkpoint, *checkpoint.config().text("model_type"));
  const bool experts = view.architecture() == "qwen3_moe";
  ModelDescription model = decoder_sizes(view, {.head_dim = experts ? std::optional<std::int64_t>() : 128});
  const Rotary rotary = read_rotary(view, rope_table(view), model.head_dim, model.context);
  const std::vector<Window> windows =
      experts ? windows_of_experts(view, model.layers) : windows_of_qwen(view, model.layers);
  DecoderTraits traits = {.bias = view.flag("attention_bias", false), .head_norm = HeadNormKind::each_head};
  traits.rotary = [&](std::int64_t) { return rotary; };
  traits.window = [&](std::int64_t layer) { return windows[layer]; };
  describe_decoder(view, model, traits,
                   {"decoder_sparse_step", "mlp_only_layers", "moe_intermediate_size", "norm_topk_prob", "num_experts",
                    "num_experts_per_tok", "num_local_experts", "output_router_logits", "router_aux_loss_coef"});
  return model;
}

}  // namespace softcheck::models
