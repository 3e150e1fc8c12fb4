#include "models/architectures/architectures.hpp"
#include "models/architectures/heads.hpp"
#include "models/architectures/rotary.hpp"
#include "models/architectures/view.hpp"

namespace softcheck::models {

/// ESM-1b and ESM-2, encoders of proteins: BERT's names, norms before the parts of a layer, positions rotated (ESM-2)
/// or added.
ModelDescription describe_esm(const Checkpoint& checkpoint) {
  CheckpointView view(checkpoint, "esm");
  ModelDescription model = {.architecture = "esm",
                            .layers = view.layer_count("num_hidden_layers"),
                            .heads = view.count("num_attention_heads"),
                            .hidden = view.count("hidden_size"),
                            .context = view.count("max_position_embeddings", 1026)};
  model.key_heads = model.heads;
  model.head_dim = whole_head_dim(view, model);
  view.epsilon("layer_norm_eps", 1e-12);
  view.refuse_flag("is_folding_model", "the folding trunk is not described");
  const std::string positions = view.text("position_embedding_type").value_or("absolute");
  const Rotary rotary = read_rotary(view, rope_table(view), model.head_dim, model.context);
  if (positions != "rotary" && positions != "absolute") {
    view.unsupported("the key position_embedding_type asks for relative positions");
  }
  const bool causal = view.flag("is_decoder", false);
  view.find_prefix("encoder.layer.0.attention.self.query.weight");
  view.layers_at("encoder.layer.", model.layers);
  view.hold_rows("embeddings.word_embeddings.weight", "vocab_size");
  const std::int64_t hidden = model.hidden, inner = view.count("intermediate_size", 0);
  for (std::int64_t layer = 0; layer < model.layers; ++layer) {
    const std::string below = view.layer(layer), attention = below + "attention.self.";
    HeadDescription head = {.layer = static_cast<int>(layer),
                            .query = {.tensor = view.matrix(attention + "query.weight", hidden, hidden)},
                            .key = {.tensor = view.matrix(attention + "key.weight", hidden, hidden)},
                            .query_bias = view.vector(attention + "query.bias", hidden),
                            .key_bias = view.vector(attention + "key.bias", hidden),
                            .input_norm = layer_norm(view, below + "attention.LayerNorm", hidden),
                            .rotary = positions == "rotary" ? std::optional(rotary) : std::nullopt,
                            .scale = inverse_root(model.head_dim),
                            .causal = causal};
    add_heads(model, head);
    view.hold_linear(attention + "value", hidden, hidden, true);
    view.hold_linear(below + "attention.output.dense", hidden, hidden, true);
    view.hold_linear(below + "intermediate.dense", inner, hidden, true);
    view.hold_linear(below + "output.dense", hidden, inner, true);
  }
  view.finish({"emb_layer_norm_before", "esmfold_config", "token_dropout", "vocab_list"},
              {"attention.self.rotary_embeddings.inv_freq", "LayerNorm."});
  return model;
}

}  // namespace softcheck::models
