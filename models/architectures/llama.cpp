// Decoders of the layout of Llama.
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
