#include "models/architectures/architectures.hpp"
#include "models/architectures/decoder.hpp"
#include "models/architectures/rotary.hpp"

namespace softcheck::models {
namespace {

/// Mistral and Phi-3: a window for all layers, or none.
Window window_of_all(CheckpointView& view, Window fallback) {
  const std::optional<std::vector<std::string>> types = view.texts("layer_types");
  if (types) view.unsupported("the key layer_types is not heeded by this architecture");
  if (!view.states_key("sliding_window")) return fallback;
  if (!view.has_key("sliding_window")) return std::nullopt;
  return static_cast<std::uint64_t>(view.count("sliding_window"));
}

}  // namespace

/// Llama, Mistral, Qwen2 and Phi-3: one layout, with or without biases, windows, a fused projection.
ModelDescription describe_llama(const Checkpoint& checkpoint) {
  CheckpointView view(checkpoint, *checkpoint.config().text("model_type"));
  ModelDescription model = decoder_sizes(view);
  const bool qwen2 = view.architecture() == "qwen2", phi3 = view.architecture() == "phi3";
  DecoderTraits traits = {.fused = phi3, .epsilon = phi3 ? 1e-5 : 1e-6};
  RopeDefaults rope;
  if (view.architecture() == "llama") {
    traits.bias = view.flag("attention_bias", false);
    traits.mlp_bias = view.flag("mlp_bias", false);
  }
  if (view.architecture() == "mistral" || phi3) {
    view.refuse_flag("attention_bias", "this architecture has no such biases");
    const Window window = window_of_all(view, phi3 ? Window() : Window(4096));
    traits.window = [window](std::int64_t) { return window; };
  }
  if (qwen2) {
    traits.bias = true;
    traits.output_bias = false;
    view.refuse_flag("use_mrope", "positions of several axes are not described");
    traits.window = [windows = windows_of_qwen(view, model.layers)](std::int64_t layer) { return windows[layer]; };
  }
  if (phi3) {
    rope = {.partial_key = "partial_rotary_factor", .original_context = 4096, .yarn_is_longrope = true};
    view.key("original_max_position_embeddings");
  }
  const Rotary rotary = read_rotary(view, rope_table(view), model.head_dim, model.context, rope);
  traits.rotary = [&](std::int64_t) { return rotary; };
  describe_decoder(view, model, traits, {"full_attn_mod", "interpolate_factor", "lm_head_bias"});
  return model;
}

}  // namespace softcheck::models
