#include "models/architectures/decoder.hpp"

#include <string>

#include "models/architectures/heads.hpp"

namespace softcheck::models {
namespace {

/// The projections of a layer and their biases, of all heads.
void place_projections(CheckpointView& view, const ModelDescription& model, const DecoderTraits& traits,
                       const std::string& attention, HeadDescription& head) {
  const std::int64_t queries = model.heads * model.head_dim, keys = model.key_heads * model.head_dim;
  if (traits.fused) {
    head.query.tensor = view.matrix(attention + "qkv_proj.weight", queries + 2 * keys, model.hidden);
    head.key.tensor = head.query.tensor;
    return;
  }
  head.query.tensor = view.matrix(attention + "q_proj.weight", queries, model.hidden);
  head.key.tensor = view.matrix(attention + "k_proj.weight", keys, model.hidden);
  if (!traits.bias) return;
  head.query_bias = view.vector(attention + "q_proj.bias", queries);
  head.key_bias = view.vector(attention + "k_proj.bias", keys);
}

std::optional<HeadNorm> place_head_norm(CheckpointView& view, const ModelDescription& model,
                                        const DecoderTraits& traits, const std::string& attention) {
  if (traits.head_norm == HeadNormKind::none) return std::nullopt;
  const bool all = traits.head_norm == HeadNormKind::all_heads;
  HeadNorm norm = {.gain_plus_one = traits.gain_plus_one,
                   .query_width = model.head_dim * (all ? model.heads : 1),
                   .key_width = model.head_dim * (all ? model.key_heads : 1)};
  norm.query_gain = view.norm_vector(attention + "q_norm.weight", norm.query_width);
  norm.key_gain = view.norm_vector(attention + "k_norm.weight", norm.key_width);
  return norm;
}

/// What no bound depends on, and what the configuration says of it.
void hold_others(CheckpointView& view, const ModelDescription& model, const DecoderTraits& traits,
                 const std::string& layer) {
  const std::int64_t queries = model.heads * model.head_dim, keys = model.key_heads * model.head_dim,
                     inner = view.count("intermediate_size", 0);
  view.hold_linear(layer + "self_attn.v_proj", keys, model.hidden, traits.bias);
  view.hold_linear(layer + "self_attn.o_proj", model.hidden, queries, traits.output_bias.value_or(traits.bias));
  view.hold_linear(layer + "mlp.gate_up_proj", 2 * inner, model.hidden, traits.mlp_bias);
  view.hold_linear(layer + "mlp.gate_proj", inner, model.hidden, traits.mlp_bias);
  view.hold_linear(layer + "mlp.up_proj", inner, model.hidden, traits.mlp_bias);
  view.hold_linear(layer + "mlp.down_proj", model.hidden, inner, traits.mlp_bias);
}

}  // namespace

ModelDescription decoder_sizes(CheckpointView& view, const DecoderDefaults& defaults) {
  ModelDescription model = {.architecture = view.architecture(),
                            .layers = view.layer_count("num_hidden_layers"),
                            .heads = view.count("num_attention_heads", defaults.heads),
                            .hidden = view.count("hidden_size"),
                            .context = view.count("max_position_embeddings", defaults.context)};
  model.key_heads = view.count("num_key_value_heads", defaults.key_heads.value_or(model.heads));
  check_groups(view, model);
  if (!defaults.head_dim && !view.has_key("head_dim") && model.hidden % model.heads != 0) {
    view.malformed("hidden_size must be a multiple of num_attention_heads where head_dim is absent");
  }
  model.head_dim = view.count("head_dim", defaults.head_dim.value_or(model.hidden / model.heads));
  return model;
}

void describe_decoder(CheckpointView& view, ModelDescription& model, const DecoderTraits& traits,
                      std::initializer_list<std::string_view> harmless) {
  const double epsilon = view.epsilon("rms_norm_eps", traits.epsilon);
  view.find_prefix(traits.fused ? "layers.0.self_attn.qkv_proj.weight" : "layers.0.self_attn.q_proj.weight");
  view.layers_at("layers.", model.layers);
  view.hold_rows("embed_tokens.weight", "vocab_size");
  // Gemma multiplies tokens' rows by a root that it rounds; norms behind the projections are not enumerated.
  if (traits.input_norm && traits.rows_as_stored && !traits.gain_plus_one && traits.head_norm == HeadNormKind::none) {
    model.inputs = token_inputs(view, model, "embed_tokens.weight", epsilon);
  }
  for (std::int64_t layer = 0; layer < model.layers; ++layer) {
    const std::string attention = view.layer(layer) + "self_attn.";
    HeadDescription head = {.layer = static_cast<int>(layer),
                            .head_norm = place_head_norm(view, model, traits, attention),
                            .rotary = traits.rotary(layer),
                            .scale = traits.scale ? *traits.scale : inverse_root(model.head_dim),
                            .softcap = traits.softcap,
                            .window = traits.window ? traits.window(layer) : std::nullopt};
    place_projections(view, model, traits, attention, head);
    if (traits.input_norm) {
      head.input_norm = InputNorm{.kind = NormKind::rms_norm,
                                  .gain = view.norm_vector(view.layer(layer) + "input_layernorm.weight", model.hidden),
                                  .gain_plus_one = traits.gain_plus_one};
    }
    hold_others(view, model, traits, view.layer(layer));
    if (traits.hold_more) traits.hold_more(layer);
    if (traits.sinks) head.sink = view.vector(attention + "sinks", model.heads);
    add_heads(model, head, {.key_first = traits.fused ? model.heads * model.head_dim : 0});
  }
  view.finish(harmless,
              {"self_attn.rotary_emb.inv_freq", "mlp.", "post_attention_layernorm.", "post_feedforward_layernorm.",
               "post_mlp_layernorm.", "post_self_attn_layernorm.", "pre_feedforward_layernorm."});
}

}  // namespace softcheck::models
