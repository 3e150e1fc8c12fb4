#include <string>

#include "models/architectures/architectures.hpp"
#include "models/architectures/heads.hpp"
#include "models/architectures/view.hpp"

namespace softcheck::models {

using numerics::Enclosure;

ModelDescription describe_gpt2(const Checkpoint& checkpoint) {
  CheckpointView view(checkpoint, "gpt2");
  ModelDescription model = {.architecture = "gpt2",
                            .layers = view.layer_count("n_layer"),
                            .heads = view.count("n_head"),
                            .hidden = view.count("n_embd"),
                            .context = view.count("n_positions", view.count("n_ctx", 1024))};
  model.key_heads = model.heads;
  model.head_dim = whole_head_dim(view, model);
  const double epsilon = view.epsilon("layer_norm_epsilon", 1e-5);
  const bool by_width = view.flag("scale_attn_weights", true);
  const bool by_layer = view.flag("scale_attn_by_inverse_layer_idx", false);
  view.find_prefix("h.0.attn.c_attn.weight");
  view.layers_at("h.", model.layers);
  model.inputs = token_inputs(view, model, "wte.weight", epsilon, "wpe.weight", {0, model.context});
  for (std::int64_t layer = 0; layer < model.layers; ++layer) {
    const std::string attention = view.layer(layer) + "attn.c_attn.", norm = view.layer(layer) + "ln_1";
    // A Conv1D has its inputs as rows; its columns are the queries, keys and values of all heads.
    const MatrixPlace projection = {.tensor = view.matrix(attention + "weight", model.hidden, 3 * model.hidden),
                                    .transposed = true};
    const VectorPlace bias = view.vector(attention + "bias", 3 * model.hidden);
    HeadDescription head = {.layer = static_cast<int>(layer),
                            .query = projection,
                            .key = projection,
                            .query_bias = bias,
                            .key_bias = bias,
                            .input_norm = layer_norm(view, norm, model.hidden),
                            .scale = by_width ? inverse_root(model.head_dim) : Enclosure(1)};
    if (by_layer) head.scale = head.scale / Enclosure(layer + 1);
    add_heads(model, head, {.key_first = model.hidden});
    const std::int64_t inner = view.count("n_inner", 4 * model.hidden);
    view.hold_linear(view.layer(layer) + "attn.c_proj", model.hidden, model.hidden, true, true);
    view.hold_linear(view.layer(layer) + "mlp.c_fc", inner, model.hidden, true, true);
    view.hold_linear(view.layer(layer) + "mlp.c_proj", model.hidden, inner, true, true);
  }
  view.finish(
      {"activation_function", "attn_pdrop", "n_ctx", "n_special", "predict_special_tokens", "reorder_and_upcast_attn",
       "summary_activation", "summary_first_dropout", "summary_proj_to_labels", "summary_type", "summary_use_proj"},
      // attn.bias is the causal mask, not a bias of the projection.
      {"attn.bias", "attn.masked_bias", "ln_2."});
  return model;
}

}  // namespace softcheck::models
