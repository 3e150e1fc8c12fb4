#include <string>

#include "models/architectures/architectures.hpp"
#include "models/architectures/heads.hpp"
#include "models/architectures/view.hpp"

namespace softcheck::models {
namespace {

/// BERT, RoBERTa and DistilBERT differ in names only: encoders whose norms stand behind each part of a layer, so that
/// what a layer's projections read comes from the norm of the embeddings or of the layer below.
struct EncoderNames {
  std::string heads, layers, hidden;           // keys
  std::string layer_path;                      // "encoder.layer."
  std::string query, key;                      // below a layer
  std::string output_norm;                     // below a layer
  std::string value, output, inner, up, down;  // what no bound depends on, and the key of its width
};

const EncoderNames bert_names = {"num_attention_heads", "num_hidden_layers",    "hidden_size",
                                 "encoder.layer.",      "attention.self.query", "attention.self.key",
                                 "output.LayerNorm",    "attention.self.value", "attention.output.dense",
                                 "intermediate_size",   "intermediate.dense",   "output.dense"};
const EncoderNames distilbert_names = {"n_heads",
                                       "n_layers",
                                       "dim",
                                       "transformer.layer.",
                                       "attention.q_lin",
                                       "attention.k_lin",
                                       "output_layer_norm",
                                       "attention.v_lin",
                                       "attention.out_lin",
                                       "hidden_dim",
                                       "ffn.lin1",
                                       "ffn.lin2"};

/// Positions that an input can have: RoBERTa's begin behind that of the padding token.
std::int64_t most_positions(CheckpointView& view) {
  const std::int64_t positions = view.count("max_position_embeddings", 512);
  if (!view.architecture().ends_with("roberta")) return positions;
  const std::int64_t padding = view.checkpoint().config().integer(view.key("pad_token_id")).value_or(1);
  if (padding < 0 || padding > positions - 2) view.malformed("pad_token_id leaves no position behind it");
  return positions - 1 - padding;
}

}  // namespace

ModelDescription describe_bert(const Checkpoint& checkpoint) {
  CheckpointView view(checkpoint, *checkpoint.config().text("model_type"));
  const EncoderNames& names = view.architecture() == "distilbert" ? distilbert_names : bert_names;
  ModelDescription model = {.architecture = view.architecture(),
                            .layers = view.layer_count(names.layers),
                            .heads = view.count(names.heads),
                            .hidden = view.count(names.hidden),
                            .context = most_positions(view)};
  model.key_heads = model.heads;
  model.head_dim = whole_head_dim(view, model);
  const double stated = view.epsilon("layer_norm_eps", 1e-12);
  const bool distilbert = &names == &distilbert_names;
  if (view.text("position_embedding_type").value_or("absolute") != "absolute") {
    view.unsupported("the key position_embedding_type asks for relative positions");
  }
  const bool causal = view.flag("is_decoder", false);
  view.find_prefix(names.layer_path + "0." + names.query + ".weight");
  view.layers_at(names.layer_path, model.layers);
  const std::string embeddings = "embeddings.";
  // RoBERTa's first rows of positions are the padding's.
  const std::int64_t first = view.architecture().ends_with("roberta")
                                 ? view.checkpoint().config().integer(view.key("pad_token_id")).value_or(1) + 1
                                 : 0;
  model.inputs = token_inputs(view, model, embeddings + "word_embeddings.weight", distilbert ? 1e-12 : stated,
                              embeddings + "position_embeddings.weight", {first, model.context},
                              distilbert ? "" : embeddings + "token_type_embeddings.weight");
  InputNorm norm = layer_norm(view, "embeddings.LayerNorm", model.hidden);
  for (std::int64_t layer = 0; layer < model.layers; ++layer) {
    const std::string query = view.layer(layer) + names.query, key = view.layer(layer) + names.key;
    HeadDescription head = {.layer = static_cast<int>(layer),
                            .query = {.tensor = view.matrix(query + ".weight", model.hidden, model.hidden)},
                            .key = {.tensor = view.matrix(key + ".weight", model.hidden, model.hidden)},
                            .query_bias = view.vector(query + ".bias", model.hidden),
                            .key_bias = view.vector(key + ".bias", model.hidden),
                            .input_norm = norm,
                            .scale = inverse_root(model.head_dim),
                            .causal = causal};
    add_heads(model, head);
    const std::int64_t inner = view.count(names.inner, 0);
    view.hold_linear(view.layer(layer) + names.value, model.hidden, model.hidden, true);
    view.hold_linear(view.layer(layer) + names.output, model.hidden, model.hidden, true);
    view.hold_linear(view.layer(layer) + names.up, inner, model.hidden, true);
    view.hold_linear(view.layer(layer) + names.down, model.hidden, inner, true);
    norm = layer_norm(view, view.layer(layer) + names.output_norm, model.hidden);
  }
  view.finish({"directionality", "sinusoidal_pos_embds", "activation", "dropout", "qa_dropout", "seq_classif_dropout",
               "max_position_embeddings"},
              {"attention.output.LayerNorm.", "sa_layer_norm."});
  return model;
}

}  // namespace softcheck::models
