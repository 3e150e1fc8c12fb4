#include <string>

#include "models/architectures/architectures.hpp"
#include "models/architectures/heads.hpp"
#include "models/architectures/view.hpp"

namespace softcheck::models {
namespace {

/// One kind of attention in all layers of a stack.
///
/// stack     "encoder" or "decoder"
/// across    the decoder's attention to the encoder, which has no numbers by distance
ModelDescription t5_attention(const Checkpoint& checkpoint, const std::string& stack, bool across) {
  CheckpointView view(checkpoint, *checkpoint.config().text("model_type"));
  view.key("is_encoder_decoder");
  const bool decoder = stack == "decoder";
  const std::int64_t layers = view.layer_count("num_layers", 6);
  ModelDescription model = {.architecture = view.architecture(),
                            .layers = decoder ? view.layer_count("num_decoder_layers", layers) : layers,
                            .heads = view.count("num_heads", 8),
                            .hidden = view.count("d_model", 512),
                            .head_dim = view.count("d_kv", 64),
                            .context = view.count("n_positions", 512)};
  model.key_heads = model.heads;
  view.require_head_dim(model.head_dim);
  view.epsilon("layer_norm_epsilon", 1e-6);
  const std::int64_t hidden = model.hidden, rows = model.heads * model.head_dim, inner = view.count("d_ff", 0),
                     buckets = view.count("relative_attention_num_buckets", 32);
  const std::string attention = across ? "layer.1.EncDecAttention." : "layer.0.SelfAttention.",
                    first = ".block.0.layer.0.SelfAttention.", table = first + "relative_attention_bias.weight";
  view.find_prefix(stack + first + "q.weight");
  view.layers_at(stack + ".block.", model.layers);
  view.hold_rows("shared.weight", "vocab_size");
  // Each stack's description has to know both tables: any other table could add numbers to logits and is refused.
  for (const std::string one : {"encoder", "decoder"}) view.hold(one + table, {buckets, model.heads});
  for (std::int64_t layer = 0; layer < model.layers; ++layer) {
    const std::string below = view.layer(layer), norm = below + (across ? "layer.1" : "layer.0") + ".layer_norm.weight";
    HeadDescription head = {.layer = static_cast<int>(layer),
                            .query = {.tensor = view.matrix(below + attention + "q.weight", rows, hidden)},
                            .key = {.tensor = view.matrix(below + attention + "k.weight", rows, hidden)},
                            .input_norm = InputNorm{.kind = NormKind::rms_norm, .gain = view.norm_vector(norm, hidden)},
                            .causal = decoder && !across};
    if (across) {
      head.key_norm =
          InputNorm{.kind = NormKind::rms_norm, .gain = view.norm_vector("encoder.final_layer_norm.weight", hidden)};
    } else {
      head.distance_bias = DistanceBias{.table = view.tensor(stack + table, {buckets, model.heads})};
    }
    add_heads(model, head);
    for (const std::string part : {"layer.0.SelfAttention.", "layer.1.EncDecAttention."}) {
      for (const std::string one : {"q", "k", "v"}) view.hold_linear(below + part + one, rows, hidden, false);
      view.hold_linear(below + part + "o", hidden, rows, false);
    }
    const std::string feed = below + (decoder ? "layer.2" : "layer.1") + ".DenseReluDense.";
    for (const std::string one : {"wi", "wi_0", "wi_1"}) view.hold_linear(feed + one, inner, hidden, false);
    view.hold_linear(feed + "wo", hidden, inner, false);
  }
  view.finish({"dense_act_fn", "dropout_rate", "feed_forward_proj", "initializer_factor", "is_gated_act",
               "num_decoder_layers", "relative_attention_max_distance", "scale_decoder_outputs"},
              {"layer.0.layer_norm.", "layer.1.layer_norm.", "layer.2.layer_norm."});
  return model;
}

}  // namespace

/// T5 and mT5: logits are not scaled. Each gets a number by the distance of query and key, from one table for all
/// layers of a stack. The encoder may stand alone.
ModelDescription describe_t5(const Checkpoint& checkpoint) {
  ModelDescription model = {.architecture = *checkpoint.config().text("model_type")};
  add_part(model, "encoder", t5_attention(checkpoint, "encoder", false));
  const std::string first = "decoder.block.0.layer.0.SelfAttention.q.weight";
  if (!checkpoint.find(first) && !checkpoint.find("transformer." + first)) return model;
  add_part(model, "decoder", t5_attention(checkpoint, "decoder", false));
  add_part(model, "cross-attention", t5_attention(checkpoint, "decoder", true));
  return model;
}

}  // namespace softcheck::models
