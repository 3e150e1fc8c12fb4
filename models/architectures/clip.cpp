#include <string>

#include "models/architectures/architectures.hpp"
#include "models/architectures/heads.hpp"
#include "models/architectures/view.hpp"

namespace softcheck::models {
namespace {

/// transformers' defaults: its files leave out keys that have them.
struct TowerDefaults {
  std::int64_t heads, hidden, context;  // text
  std::int64_t patch;                   // vision: 12 heads, width 768, images of 224
  bool class_token;
  bool causal;
  double epsilon;
};
constexpr TowerDefaults clip = {8, 512, 77, 32, true, true, 1e-5};
constexpr TowerDefaults siglip = {12, 768, 64, 16, false, false, 1e-6};

std::int64_t patches(CheckpointView& view, const TowerDefaults& defaults) {
  const std::int64_t across = view.count("image_size", 224) / view.count("patch_size", defaults.patch);
  if (across < 1) view.malformed("image_size must be at least patch_size");
  return across * across + (defaults.class_token ? 1 : 0);
}

/// kind   "text" or "vision"
ModelDescription tower_of(const Checkpoint& checkpoint, const TowerDefaults& defaults, const std::string& kind,
                          const std::string& section) {
  CheckpointView view(checkpoint, *checkpoint.config().text("model_type"), section);
  const bool text = kind == "text";
  ModelDescription model = {
      .architecture = view.architecture(),
      .layers = view.layer_count("num_hidden_layers", 12),
      .heads = view.count("num_attention_heads", text ? defaults.heads : 12),
      .hidden = view.count("hidden_size", text ? defaults.hidden : 768),
      .context = text ? view.count("max_position_embeddings", defaults.context) : patches(view, defaults)};
  model.key_heads = model.heads;
  model.head_dim = whole_head_dim(view, model);
  view.epsilon("layer_norm_eps", defaults.epsilon);
  // A tower saved alone has its tensors with or without the prefix that they have in the whole model.
  std::string outer = kind + "_model.";
  if (section.empty() && !checkpoint.find(outer + "encoder.layers.0.self_attn.q_proj.weight")) outer.clear();
  view.find_prefix(outer + "encoder.layers.0.self_attn.q_proj.weight");
  view.layers_at(outer + "encoder.layers.", model.layers);
  view.hold(outer + "embeddings.position_embedding.weight", {model.context, model.hidden});
  if (text) view.hold_rows(outer + "embeddings.token_embedding.weight", "vocab_size");
  const std::int64_t hidden = model.hidden, inner = view.count("intermediate_size", 0);
  for (std::int64_t layer = 0; layer < model.layers; ++layer) {
    const std::string below = view.layer(layer), attention = below + "self_attn.";
    HeadDescription head = {.layer = static_cast<int>(layer),
                            .query = {.tensor = view.matrix(attention + "q_proj.weight", hidden, hidden)},
                            .key = {.tensor = view.matrix(attention + "k_proj.weight", hidden, hidden)},
                            .query_bias = view.vector(attention + "q_proj.bias", hidden),
                            .key_bias = view.vector(attention + "k_proj.bias", hidden),
                            .input_norm = layer_norm(view, below + "layer_norm1", hidden),
                            .scale = inverse_root(model.head_dim),
                            .causal = text && defaults.causal};
    add_heads(model, head);
    view.hold_linear(attention + "v_proj", hidden, hidden, true);
    view.hold_linear(attention + "out_proj", hidden, hidden, true);
    view.hold_linear(below + "mlp.fc1", inner, hidden, true);
    view.hold_linear(below + "mlp.fc2", hidden, inner, true);
  }
  view.finish({"initializer_factor", "num_channels", "projection_dim", "projection_size", "vision_use_head"},
              {"layer_norm2."});
  return model;
}

/// CLIP's first files state each section twice. transformers takes the second, and defaults for the keys absent there.
void check_second_section(CheckpointView& view, const std::string& kind, const ModelDescription& tower) {
  const Config& config = view.checkpoint().config();
  const std::string second = kind + "_config_dict";
  if (!config.has(view.key(second)) || config.keys(second).empty()) return;
  const std::int64_t heads = config.integer(second + ".num_attention_heads").value_or(kind == "text" ? clip.heads : 12);
  if (heads == tower.heads) return;
  view.malformed(second + ".num_attention_heads and " + kind + "_config.num_attention_heads contradict each other: " +
                 std::to_string(heads) + " and " + std::to_string(tower.heads));
}

}  // namespace

/// CLIP and SigLIP: two encoders, of text and of images, or one of them alone. SigLIP's pooling of the image has one
/// stored query and is not described.
ModelDescription describe_clip(const Checkpoint& checkpoint) {
  const std::string type = *checkpoint.config().text("model_type");
  const TowerDefaults& defaults = type.starts_with("siglip") ? siglip : clip;
  if (type.ends_with("_text_model")) return tower_of(checkpoint, defaults, "text", "");
  if (type.ends_with("_vision_model")) return tower_of(checkpoint, defaults, "vision", "");
  CheckpointView view(checkpoint, type);
  ModelDescription model = {.architecture = type};
  for (const std::string kind : {"text", "vision"}) {
    ModelDescription tower = tower_of(checkpoint, defaults, kind, view.key(kind + "_config"));
    check_second_section(view, kind, tower);
    add_part(model, kind, std::move(tower));
  }
  view.refuse_other_keys("", {"initializer_factor", "logit_scale_init_value", "projection_dim"});
  return model;
}

}  // namespace softcheck::models
