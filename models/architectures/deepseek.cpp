#include <string>

#include "models/architectures/architectures.hpp"
#include "models/architectures/heads.hpp"
#include "models/architectures/rotary.hpp"
#include "models/architectures/view.hpp"

namespace softcheck::models {
namespace {

struct LatentSizes {
  std::int64_t plain, turned, value;  // coordinates of a head: of queries and keys, and of values
  std::int64_t key_rank;
  std::int64_t query_rank;  // 0: queries come from the layer's input
};

InputNorm gain_of(CheckpointView& view, const std::string& name, std::int64_t width) {
  return {.kind = NormKind::rms_norm, .gain = view.norm_vector(name + ".weight", width)};
}

/// The pattern of a layer's heads: add_heads() places each head's rows.
HeadDescription pattern_of(CheckpointView& view, const ModelDescription& model, const LatentSizes& sizes,
                           std::int64_t layer) {
  const std::string below = view.layer(layer), attention = below + "self_attn.";
  const std::int64_t hidden = model.hidden, rows = model.heads * model.head_dim;
  const InputNorm input = gain_of(view, below + "input_layernorm", hidden);
  HeadDescription head;
  head.layer = static_cast<int>(layer);
  head.input_norm = input;
  if (sizes.query_rank == 0) {
    head.query.tensor = view.matrix(attention + "q_proj.weight", rows, hidden);
  } else {
    view.hold_linear(attention + "q_a_proj", sizes.query_rank, hidden, {});
    head.input_norm = gain_of(view, attention + "q_a_layernorm", sizes.query_rank);
    head.query.tensor = view.matrix(attention + "q_b_proj.weight", rows, sizes.query_rank);
  }
  head.key.tensor =
      view.matrix(attention + "kv_b_proj.weight", model.heads * (sizes.plain + sizes.value), sizes.key_rank);
  head.key_norm = gain_of(view, attention + "kv_a_layernorm", sizes.key_rank);
  head.turned_key.emplace().norm = input;
  head.turned_key->matrix.tensor =
      view.matrix(attention + "kv_a_proj_with_mqa.weight", sizes.key_rank + sizes.turned, hidden);
  head.turned_key->matrix.outputs = {sizes.key_rank, sizes.turned};
  view.hold_linear(attention + "o_proj", hidden, model.heads * sizes.value, {});
  return head;
}

}  // namespace

/// Attention with latent keys (MLA): DeepSeek V2 and V3, Kimi K2. A key has coordinates of its head, from a latent
/// vector with a norm, and others that all heads share, from the layer's input. Rotary positions turn only the latter.
ModelDescription describe_deepseek(const Checkpoint& checkpoint) {
  CheckpointView view(checkpoint, *checkpoint.config().text("model_type"));
  LatentSizes sizes = {.plain = view.count("qk_nope_head_dim", 128),
                       .turned = view.count("qk_rope_head_dim", 64),
                       .value = view.count("v_head_dim", 128),
                       .key_rank = view.count("kv_lora_rank", 512),
                       .query_rank = 1536};
  if (view.states_key("q_lora_rank")) sizes.query_rank = view.has_key("q_lora_rank") ? view.count("q_lora_rank") : 0;
  ModelDescription model = {.architecture = view.architecture(),
                            .layers = view.layer_count("num_hidden_layers"),
                            .heads = view.count("num_attention_heads"),
                            .hidden = view.count("hidden_size"),
                            .head_dim = sizes.plain + sizes.turned,
                            .context = view.count("max_position_embeddings")};
  model.key_heads = view.count("num_key_value_heads", model.heads);
  if (model.key_heads != model.heads) view.unsupported("the key num_key_value_heads asks for grouped latent keys");
  view.require_head_dim(sizes.turned);
  view.epsilon("rms_norm_eps", 1e-6);
  view.refuse_flag("attention_bias", "biases of latent vectors are not described");
  const std::string table = rope_table(view);
  Rotary rotary = read_rotary(view, table, sizes.turned, model.context);
  const double all = table.empty() ? 0 : view.number(table + ".mscale_all_dim", 0);
  const bool unscaled = rotary.factor.lower_double() == 1 && rotary.factor.upper_double() == 1;
  if (!unscaled &&
      (all == 0 || view.number(table + ".mscale", 0) != all || view.has_key(table + ".attention_factor"))) {
    view.unsupported("the key " + table + ".mscale is not mscale_all_dim: turned coordinates alone have a factor");
  }
  rotary.factor = numerics::Enclosure(1);
  // transformers' config.json repeats the rotated part.
  if (view.count("head_dim", sizes.turned) != sizes.turned) view.malformed("head_dim must be qk_rope_head_dim");
  if (view.flag("rope_interleave", true)) rotary.layout = PlaneLayout::interleaved;
  numerics::Enclosure scale = inverse_root(model.head_dim);
  if (all != 0) scale = scale * square(yarn_magnitude(view.number(table + ".factor", 1), all));
  view.find_prefix("layers.0.self_attn.kv_b_proj.weight");
  const auto further = static_cast<std::int64_t>(view.number("num_nextn_predict_layers", 0));
  view.layers_at("layers.", model.layers, further);
  view.hold_rows("embed_tokens.weight", "vocab_size");
  for (std::int64_t layer = 0; layer < model.layers; ++layer) {
    HeadDescription head = pattern_of(view, model, sizes, layer);
    head.rotary = rotary;
    head.scale = scale;
    add_heads(model, head, {.key_step = sizes.plain + sizes.value});
  }
  for (HeadDescription& head : model.head_list) head.key.outputs.count = sizes.plain;
  view.finish({"aux_loss_alpha", "ep_size", "first_k_dense_replace", "moe_intermediate_size", "moe_layer_freq",
               "mlp_bias", "n_group", "n_routed_experts", "n_shared_experts", "norm_topk_prob", "num_experts_per_tok",
               "num_mtp_layers", "output_router_logits", "qk_head_dim", "routed_scaling_factor", "scoring_func",
               "seq_aux", "topk_group", "topk_method"},
              {"self_attn.rotary_emb.inv_freq", "mlp.", "post_attention_layernorm."});
  return model;
}

}  // namespace softcheck::models
