#include "models/architectures/architectures.hpp"
#include "models/architectures/decoder.hpp"
#include "models/architectures/heads.hpp"
#include "models/architectures/rotary.hpp"
#include "models/architectures/view.hpp"

namespace softcheck::models {
namespace {

/// transformers 5 has a table for each kind of layer, earlier versions a base.
Rotary rotary_of(CheckpointView& view, const ModelDescription& model, bool windowed) {
  const std::string table = windowed ? "rope_parameters.sliding_attention" : "rope_parameters.full_attention";
  const double theta = windowed ? 10000 : 160000;
  return read_rotary(view, view.has_key(table) ? table : "", model.head_dim, model.context,
                     {.theta = theta, .theta_key = windowed ? "local_rope_theta" : "global_rope_theta"});
}

}  // namespace

/// ModernBERT: an encoder with a window to both sides in two of three layers, norms before the parts of a layer, and
/// without one in the first, which reads the embeddings' norm.
ModelDescription describe_modernbert(const Checkpoint& checkpoint) {
  CheckpointView view(checkpoint, "modernbert");
  ModelDescription model = {.architecture = "modernbert",
                            .layers = view.layer_count("num_hidden_layers"),
                            .heads = view.count("num_attention_heads"),
                            .hidden = view.count("hidden_size"),
                            .context = view.count("max_position_embeddings", 8192)};
  model.key_heads = model.heads;
  model.head_dim = whole_head_dim(view, model);
  view.epsilon("norm_eps", 1e-5);
  const bool bias = view.flag("attention_bias", false), offset = view.flag("norm_bias", false),
             mlp_bias = view.flag("mlp_bias", false);
  const std::int64_t hidden = model.hidden, inner = view.count("intermediate_size", 0),
                     period = view.count("global_attn_every_n_layers", 3),
                     to_one_side = view.count("local_attention", 128) / 2;
  const std::vector<bool> windowed =
      windowed_layers(view, model.layers, [&](std::int64_t layer) { return layer % period != 0; });
  const Rotary local = rotary_of(view, model, true), global = rotary_of(view, model, false);
  if (view.has_key("rope_parameters")) view.refuse_other_keys("rope_parameters");
  view.find_prefix("layers.0.attn.Wqkv.weight");
  view.layers_at("layers.", model.layers);
  view.hold_rows("embeddings.tok_embeddings.weight", "vocab_size");
  for (std::int64_t layer = 0; layer < model.layers; ++layer) {
    const std::string below = view.layer(layer), norm = layer == 0 ? "embeddings.norm" : below + "attn_norm";
    const MatrixPlace projection = {.tensor = view.matrix(below + "attn.Wqkv.weight", 3 * hidden, hidden)};
    const VectorPlace offsets = bias ? view.vector(below + "attn.Wqkv.bias", 3 * hidden) : VectorPlace();
    HeadDescription head = {
        .layer = static_cast<int>(layer),
        .query = projection,
        .key = projection,
        .query_bias = offsets,
        .key_bias = offsets,
        .input_norm = InputNorm{.gain = view.norm_vector(norm + ".weight", hidden),
                                .offset = offset ? view.norm_vector(norm + ".bias", hidden) : VectorPlace()},
        .rotary = windowed[layer] ? local : global,
        .scale = inverse_root(model.head_dim),
        .window = windowed[layer] ? Window(2 * static_cast<std::uint64_t>(to_one_side) + 1) : std::nullopt,
        .causal = false};
    add_heads(model, head, {.key_first = hidden});
    view.hold_linear(below + "attn.Wo", hidden, hidden, bias);
    view.hold_linear(below + "mlp.Wi", 2 * inner, hidden, mlp_bias);
    view.hold_linear(below + "mlp.Wo", hidden, inner, mlp_bias);
  }
  view.finish({"classifier_activation", "classifier_bias", "classifier_pooling", "decoder_bias",
               "deterministic_flash_attn", "embedding_dropout", "hidden_activation", "initializer_cutoff_factor",
               "layer_norm_eps", "mlp_dropout", "position_embedding_type", "reference_compile",
               "repad_logits_with_grad", "sparse_pred_ignore_index", "sparse_prediction"},
              {"mlp_norm."});
  return model;
}

}  // namespace softcheck::models
