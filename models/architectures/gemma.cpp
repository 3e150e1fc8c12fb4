#include <string>

#include "models/architectures/architectures.hpp"
#include "models/architectures/decoder.hpp"
#include "models/architectures/heads.hpp"
#include "models/architectures/rotary.hpp"

namespace softcheck::models {
namespace {

using numerics::Enclosure;

Enclosure scale_of(CheckpointView& view) {
  const double scalar = view.number("query_pre_attn_scalar", 256);
  if (!(scalar > 0)) view.malformed("query_pre_attn_scalar must be > 0");
  return inverse_root(Enclosure(scalar));
}

std::optional<double> softcap_of(CheckpointView& view, std::optional<double> fallback) {
  if (!view.states_key("attn_logit_softcapping")) return fallback;
  const std::optional<double> cap = view.optional_number("attn_logit_softcapping");
  if (cap && !(*cap > 0)) view.malformed("attn_logit_softcapping must be > 0");
  return cap;
}

/// Gemma 3 rotates by other frequencies where a layer has a window.
struct RotaryByWindow {
  Rotary windowed, full;
};

RotaryByWindow rotaries_of_gemma3(CheckpointView& view, const ModelDescription& model) {
  const bool by_type = view.has_key("rope_parameters");
  const bool old_scaling = view.has_key("rope_scaling");
  if (by_type && old_scaling) view.unsupported("the keys rope_parameters and rope_scaling are both there");
  const auto table = [&](const std::string& type) {
    const std::string path = "rope_parameters." + type;
    return view.has_key(path) ? path : "";
  };
  RotaryByWindow rotaries = {.windowed = read_rotary(view, table("sliding_attention"), model.head_dim, model.context,
                                                     {.theta = 10000, .theta_key = "rope_local_base_freq"}),
                             .full = read_rotary(view, old_scaling ? "rope_scaling" : table("full_attention"),
                                                 model.head_dim, model.context, {.theta = 1000000})};
  if (by_type) view.refuse_other_keys("rope_parameters");
  return rotaries;
}

/// Gemma 3 with images has its language model as a section of the configuration; what stands beside it changes no text.
void check_outer_keys(const Checkpoint& checkpoint) {
  CheckpointView(checkpoint, "gemma3")
      .refuse_other_keys("", {"boi_token_index", "eoi_token_index", "image_token_index", "mm_tokens_per_image",
                              "text_config", "vision_config"});
}

}  // namespace

/// Gemma, Gemma 2 and Gemma 3: gains are 1 + what is stored. The second caps logits, the third normalises queries and
/// keys instead; both have windows in most layers.
ModelDescription describe_gemma(const Checkpoint& checkpoint) {
  const std::string type = *checkpoint.config().text("model_type");
  const bool images = type == "gemma3";
  if (images) check_outer_keys(checkpoint);
  CheckpointView view(checkpoint, type, images ? "text_config" : "");
  const bool first = type == "gemma", third = type.starts_with("gemma3");
  ModelDescription model = third ? decoder_sizes(view, {.heads = 8, .key_heads = 4, .head_dim = 256, .context = 131072})
                                 : decoder_sizes(view, {.head_dim = 256});
  view.refuse_flag("use_bidirectional_attention", "such attention is not described");
  DecoderTraits traits = {.bias = view.flag("attention_bias", false), .gain_plus_one = true};
  std::vector<Window> windows(model.layers);
  if (!first) {
    traits.scale = scale_of(view);
    traits.softcap = softcap_of(view, third ? std::nullopt : std::optional<double>(50));
    windows = alternate_windows(view, model.layers, third ? view.count("sliding_window_pattern", 6) : 2, 4096);
  }
  if (images) {
    // The tokens of an image attend to each other too, before and behind.
    const std::int64_t block = checkpoint.config().integer("mm_tokens_per_image").value_or(256);
    if (block < 1 || block > model.context) view.malformed("mm_tokens_per_image must be in 1 ... the context");
    for (Window& window : windows) {
      if (window) *window += static_cast<std::uint64_t>(block - 1);
    }
  }
  if (third) traits.head_norm = HeadNormKind::each_head;
  const RotaryByWindow rotaries = third ? rotaries_of_gemma3(view, model) : RotaryByWindow();
  const Rotary rotary = third ? Rotary() : read_rotary(view, rope_table(view), model.head_dim, model.context);
  traits.rotary = [&](std::int64_t layer) {
    if (!third) return rotary;
    return windows[layer] ? rotaries.windowed : rotaries.full;
  };
  traits.window = [&](std::int64_t layer) { return windows[layer]; };
  describe_decoder(view, model, traits, {"_sliding_window_pattern", "final_logit_softcapping", "hidden_activation"});
  return model;
}

}  // namespace softcheck::models
