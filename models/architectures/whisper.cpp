#include <string>

#include "models/architectures/architectures.hpp"
#include "models/architectures/heads.hpp"
#include "models/architectures/view.hpp"

namespace softcheck::models {
namespace {

/// One kind of attention in all layers of a stack.
///
/// stack       "encoder" or "decoder"
/// attention   "self_attn" or "encoder_attn": its queries are the decoder's, its keys the encoder's
ModelDescription whisper_attention(const Checkpoint& checkpoint, const std::string& stack,
                                   const std::string& attention) {
  CheckpointView view(checkpoint, "whisper");
  view.key("is_encoder_decoder");
  const bool decoder = stack == "decoder", across = attention == "encoder_attn";
  const std::int64_t heard = view.count("max_source_positions", 1500), said = view.count("max_target_positions", 448);
  ModelDescription model = {.architecture = "whisper",
                            .layers = view.layer_count(stack + "_layers", 4),
                            .heads = view.count(stack + "_attention_heads", 6),
                            .hidden = view.count("d_model", 384),
                            .context = decoder && !across ? said : heard};
  model.key_heads = model.heads;
  model.head_dim = whole_head_dim(view, model);
  const std::int64_t hidden = model.hidden, inner = view.count(stack + "_ffn_dim", 0);
  view.find_prefix(stack + ".layers.0.self_attn.q_proj.weight");
  view.layers_at(stack + ".layers.", model.layers);
  view.hold(stack + ".embed_positions.weight", {decoder ? said : heard, hidden});
  for (std::int64_t layer = 0; layer < model.layers; ++layer) {
    const std::string below = view.layer(layer), projections = below + attention + ".";
    HeadDescription head = {.layer = static_cast<int>(layer),
                            .query = {.tensor = view.matrix(projections + "q_proj.weight", hidden, hidden)},
                            .key = {.tensor = view.matrix(projections + "k_proj.weight", hidden, hidden)},
                            .input_norm = layer_norm(view, below + attention + "_layer_norm", hidden),
                            .scale = inverse_root(model.head_dim),
                            .causal = decoder && !across};
    head.query_bias = view.vector(projections + "q_proj.bias", hidden);  // keys have none
    if (across) head.key_norm = layer_norm(view, "encoder.layer_norm", hidden);
    add_heads(model, head);
    for (const std::string part : {"self_attn", "encoder_attn"}) {
      view.hold_linear(below + part + ".k_proj", hidden, hidden, false);
      for (const std::string one : {".q_proj", ".v_proj", ".out_proj"}) {
        view.hold_linear(below + part + one, hidden, hidden, true);
      }
    }
    view.hold_linear(below + "fc1", inner, hidden, true);
    view.hold_linear(below + "fc2", hidden, inner, true);
  }
  view.finish({"activation_dropout",      "activation_function",     "apply_spec_augment",
               "classifier_proj_size",    "decoder_attention_heads", "decoder_ffn_dim",
               "decoder_layerdrop",       "decoder_layers",          "dropout",
               "encoder_attention_heads", "encoder_ffn_dim",         "encoder_layerdrop",
               "encoder_layers",          "forced_decoder_ids",      "init_std",
               "mask_feature_length",     "mask_feature_min_masks",  "mask_feature_prob",
               "mask_time_length",        "mask_time_min_masks",     "mask_time_prob",
               "median_filter_width",     "num_hidden_layers",       "num_mel_bins",
               "scale_embedding",         "use_weighted_layer_sum"},
              {"encoder_attn_layer_norm.", "final_layer_norm.", "self_attn_layer_norm."});
  return model;
}

}  // namespace

/// Whisper: an encoder of sound, a decoder of text, and the decoder's attention to the encoder.
ModelDescription describe_whisper(const Checkpoint& checkpoint) {
  ModelDescription model = {.architecture = "whisper"};
  add_part(model, "encoder", whisper_attention(checkpoint, "encoder", "self_attn"));
  add_part(model, "decoder", whisper_attention(checkpoint, "decoder", "self_attn"));
  add_part(model, "cross-attention", whisper_attention(checkpoint, "decoder", "encoder_attn"));
  return model;
}

}  // namespace softcheck::models
