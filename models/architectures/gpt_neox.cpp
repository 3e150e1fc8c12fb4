#include <string>

#include "models/architectures/architectures.hpp"
#include "models/architectures/heads.hpp"
#include "models/architectures/rotary.hpp"
#include "models/architectures/view.hpp"

namespace softcheck::models {

ModelDescription describe_gpt_neox(const Checkpoint& checkpoint) {
  CheckpointView view(checkpoint, "gpt_neox");
  ModelDescription model = {.architecture = "gpt_neox",
                            .layers = view.layer_count("num_hidden_layers"),
                            .heads = view.count("num_attention_heads"),
                            .hidden = view.count("hidden_size"),
                            .context = view.count("max_position_embeddings", 2048)};
  model.key_heads = model.heads;
  model.head_dim = whole_head_dim(view, model);
  const bool bias = view.flag("attention_bias", true);
  const double epsilon = view.epsilon("layer_norm_eps", 1e-5);
  const Rotary rotary = read_rotary(view, rope_table(view), model.head_dim, model.context,
                                    {.theta_key = "rotary_emb_base", .partial = 0.25, .partial_key = "rotary_pct"});
  view.find_prefix("layers.0.attention.query_key_value.weight");
  view.layers_at("layers.", model.layers);
  model.inputs = token_inputs(view, model, "embed_in.weight", epsilon);
  for (std::int64_t layer = 0; layer < model.layers; ++layer) {
    const std::string attention = view.layer(layer) + "attention.query_key_value.";
    const std::string norm = view.layer(layer) + "input_layernorm.";
    // Head by head its queries, keys and values.
    const MatrixPlace projection = {.tensor = view.matrix(attention + "weight", 3 * model.hidden, model.hidden)};
    const VectorPlace offsets = bias ? view.vector(attention + "bias", 3 * model.hidden) : VectorPlace();
    HeadDescription head = {.layer = static_cast<int>(layer),
                            .query = projection,
                            .key = projection,
                            .query_bias = offsets,
                            .key_bias = offsets,
                            .input_norm = InputNorm{.kind = NormKind::layer_norm,
                                                    .gain = view.norm_vector(norm + "weight", model.hidden),
                                                    .offset = view.norm_vector(norm + "bias", model.hidden)},
                            .rotary = rotary,
                            .scale = inverse_root(model.head_dim)};
    add_heads(model, head,
              {.query_step = 3 * model.head_dim, .key_first = model.head_dim, .key_step = 3 * model.head_dim});
    const std::int64_t inner = view.count("intermediate_size", 0);
    view.hold_linear(view.layer(layer) + "attention.dense", model.hidden, model.hidden, bias);
    view.hold_linear(view.layer(layer) + "mlp.dense_h_to_4h", inner, model.hidden, true);
    view.hold_linear(view.layer(layer) + "mlp.dense_4h_to_h", model.hidden, inner, true);
  }
  view.finish({"use_parallel_residual"}, {"attention.bias", "attention.masked_bias", "attention.rotary_emb.inv_freq",
                                          "post_attention_layernorm."});
  return model;
}

}  // namespace softcheck::models
