#include <string>

#include "models/architectures/architectures.hpp"
#include "models/architectures/heads.hpp"
#include "models/architectures/view.hpp"

namespace softcheck::models {
namespace {

/// Patches of an image and the class token.
std::int64_t image_items(CheckpointView& view) {
  const std::int64_t across = view.count("image_size", 224) / view.count("patch_size", 16);
  if (across < 1) view.malformed("image_size must be at least patch_size");
  return across * across + 1;
}

}  // namespace

ModelDescription describe_vit(const Checkpoint& checkpoint) {
  CheckpointView view(checkpoint, "vit");
  ModelDescription model = {.architecture = "vit",
                            .layers = view.layer_count("num_hidden_layers"),
                            .heads = view.count("num_attention_heads"),
                            .hidden = view.count("hidden_size"),
                            .context = image_items(view)};
  model.key_heads = model.heads;
  model.head_dim = whole_head_dim(view, model);
  const bool bias = view.flag("qkv_bias", true);
  view.epsilon("layer_norm_eps", 1e-12);
  view.find_prefix("encoder.layer.0.attention.attention.query.weight");
  view.layers_at("encoder.layer.", model.layers);
  view.hold("embeddings.position_embeddings", {1, model.context, model.hidden});
  for (std::int64_t layer = 0; layer < model.layers; ++layer) {
    const std::string attention = view.layer(layer) + "attention.attention.";
    const std::string norm = view.layer(layer) + "layernorm_before.";
    HeadDescription head = {.layer = static_cast<int>(layer),
                            .query = {.tensor = view.matrix(attention + "query.weight", model.hidden, model.hidden)},
                            .key = {.tensor = view.matrix(attention + "key.weight", model.hidden, model.hidden)},
                            .query_bias = bias ? view.vector(attention + "query.bias", model.hidden) : VectorPlace(),
                            .key_bias = bias ? view.vector(attention + "key.bias", model.hidden) : VectorPlace(),
                            .input_norm = InputNorm{.kind = NormKind::layer_norm,
                                                    .gain = view.norm_vector(norm + "weight", model.hidden),
                                                    .offset = view.norm_vector(norm + "bias", model.hidden)},
                            .scale = inverse_root(model.head_dim),
                            .causal = false};
    add_heads(model, head);
    const std::int64_t inner = view.count("intermediate_size", 0);
    view.hold_linear(attention + "value", model.hidden, model.hidden, bias);
    view.hold_linear(view.layer(layer) + "attention.output.dense", model.hidden, model.hidden, true);
    view.hold_linear(view.layer(layer) + "intermediate.dense", inner, model.hidden, true);
    view.hold_linear(view.layer(layer) + "output.dense", model.hidden, inner, true);
  }
  view.finish({"encoder_stride", "num_channels"}, {"layernorm_after."});
  return model;
}

}  // namespace softcheck::models
