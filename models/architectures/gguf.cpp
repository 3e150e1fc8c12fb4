#include <map>
#include <string>
#include <utility>

#include "models/architectures/architectures.hpp"
#include "models/architectures/decoder.hpp"
#include "models/architectures/gguf_rotary.hpp"
#include "models/architectures/heads.hpp"
#include "models/architectures/rotary.hpp"
#include "models/architectures/view.hpp"

namespace softcheck::models {
namespace {

using numerics::Enclosure;

/// What tells the architectures of GGUF files apart, as llama.cpp runs them. Its converters lay all of them out alike:
/// the rows of a fused projection are all queries, then all keys, and Gemma's gains hold 1 + w already.
struct GgufTraits {
  NormKind norm = NormKind::rms_norm;
  bool input_norm = true;
  bool norm_behind = false;  // BERT: the norms stand behind the parts of a layer
  bool bias = false;         // where the file has one
  bool fused = false;
  bool half_gated = false;  // ffn_up has the gate's rows, too
  bool rotary = true;
  PlaneLayout planes = PlaneLayout::half_split;
  HeadNormKind head_norm = HeadNormKind::none;
  bool sinks = false;
  std::int64_t window_period = 0;  // one layer in so many has no window; 0: none has
  std::int64_t wide_layers = 0;    // with so many layers the scale is (hidden / heads)^(-1/2): Gemma's 27B
  bool softcap = false;
  bool two_bases = false;  // Gemma 3
};

const std::map<std::string, GgufTraits> gguf_traits = {
    {"bert", {.norm = NormKind::layer_norm, .norm_behind = true, .bias = true, .rotary = false}},
    {"gemma", {}},
    {"gemma2", {.window_period = 2, .wide_layers = 46, .softcap = true}},
    {"gemma3", {.head_norm = HeadNormKind::each_head, .window_period = 6, .wide_layers = 62, .two_bases = true}},
    {"gpt-oss", {.bias = true, .sinks = true, .window_period = 2}},
    {"gpt2", {.norm = NormKind::layer_norm, .bias = true, .fused = true, .rotary = false}},
    {"gptneox", {.norm = NormKind::layer_norm, .bias = true, .fused = true}},
    {"llama", {.bias = true, .planes = PlaneLayout::interleaved}},
    {"olmo2", {.input_norm = false, .head_norm = HeadNormKind::all_heads}},
    {"phi3", {.fused = true, .half_gated = true}},
    {"qwen2", {.bias = true}},
    {"qwen3", {.head_norm = HeadNormKind::each_head}},
};

ModelDescription gguf_sizes(CheckpointView& view) {
  ModelDescription model = {.architecture = view.architecture(),
                            .layers = view.layer_count("block_count"),
                            .hidden = view.count("embedding_length"),
                            .context = view.count("context_length")};
  model.heads = view.count_of_all_layers("attention.head_count", model.layers);
  model.key_heads = view.count_of_all_layers("attention.head_count_kv", model.layers, model.heads);
  check_groups(view, model);
  model.head_dim =
      view.has_key("attention.key_length") ? view.count("attention.key_length") : whole_head_dim(view, model);
  return model;
}

InputNorm gguf_norm(CheckpointView& view, const GgufTraits& traits, const std::string& name, std::int64_t hidden) {
  InputNorm norm = {.kind = traits.norm, .gain = view.norm_vector(name + ".weight", hidden)};
  if (norm.kind == NormKind::layer_norm) norm.offset = view.norm_vector(name + ".bias", hidden);
  return norm;
}

/// Projections, biases and norms of queries and keys: names and what the layer's heads share.
void place_gguf_attention(CheckpointView& view, const ModelDescription& model, const GgufTraits& traits,
                          const std::string& attention, HeadDescription& head) {
  const std::int64_t queries = model.heads * model.head_dim, keys = model.key_heads * model.head_dim;
  const std::string query = attention + (traits.fused ? "qkv" : "q"), key = attention + (traits.fused ? "qkv" : "k");
  const std::int64_t query_rows = traits.fused ? queries + 2 * keys : queries;
  const std::int64_t key_rows = traits.fused ? query_rows : keys;
  head.query.tensor = view.matrix(query + ".weight", query_rows, model.hidden);
  head.key.tensor = view.matrix(key + ".weight", key_rows, model.hidden);
  if (traits.bias && (view.has(query + ".bias") || view.has(key + ".bias"))) {
    head.query_bias = view.vector(query + ".bias", query_rows);
    head.key_bias = view.vector(key + ".bias", key_rows);
  }
  if (traits.sinks) head.sink = view.vector(attention + "sinks.weight", model.heads);
  if (traits.head_norm == HeadNormKind::none) return;
  const bool all = traits.head_norm == HeadNormKind::all_heads;
  HeadNorm norm = {.query_width = all ? queries : model.head_dim, .key_width = all ? keys : model.head_dim};
  norm.query_gain = view.norm_vector(attention + "q_norm.weight", norm.query_width);
  norm.key_gain = view.norm_vector(attention + "k_norm.weight", norm.key_width);
  head.head_norm = norm;
}

/// What no bound depends on.
void hold_gguf_others(CheckpointView& view, const ModelDescription& model, const GgufTraits& traits,
                      const std::string& layer) {
  const std::int64_t values = view.count("attention.value_length", model.head_dim), wide = traits.half_gated ? 2 : 1;
  const std::string width = view.key("feed_forward_length");
  const bool by_layer = view.checkpoint().config().has_array(width);
  const std::int64_t inner = by_layer ? 0 : view.count("feed_forward_length", 0);
  view.hold_linear(layer + "attn_v", model.key_heads * values, model.hidden, {});
  view.hold_linear(layer + "attn_output", model.hidden, model.heads * values, {});
  view.hold_linear(layer + "ffn_gate", inner, model.hidden, {});
  view.hold_linear(layer + "ffn_up", wide * inner, model.hidden, {});
  view.hold_linear(layer + "ffn_down", model.hidden, inner, {});
}

/// What all layers share but for their window and, with two bases, their rotation.
HeadDescription gguf_pattern(CheckpointView& view, const ModelDescription& model, const GgufTraits& traits) {
  const bool wide = traits.wide_layers == model.layers;
  HeadDescription head = {.scale = inverse_root(wide ? model.hidden / model.heads : model.head_dim)};
  head.causal = view.flag("attention.causal", true);
  if (traits.softcap) head.softcap = view.number("attn_logit_softcapping", 50);
  if (head.softcap && !(*head.softcap > 0)) view.malformed("attn_logit_softcapping must be > 0");
  view.epsilon("attention.layer_norm_epsilon", 0);
  view.epsilon("attention.layer_norm_rms_epsilon", 0);
  return head;
}

void finish_gguf(CheckpointView& view, const GgufTraits& traits) {
  // llama.cpp runs Phi-3 without its window.
  if (view.architecture() == "phi3") view.key("attention.sliding_window");
  view.finish({"expert_count", "expert_feed_forward_length", "expert_used_count", "final_logit_softcapping",
               "pooling_type", "use_parallel_residual", "tensor_data_layout", "vocab_size"},
              {"attn_v.weight", traits.bias ? "attn_v.bias" : "attn_v.weight", "attn_output.weight", "attn_output.bias",
               "attn_output_norm.", "layer_output_norm.", "ffn_", "post_attention_norm.", "post_ffw_norm."});
}

double positive_number(CheckpointView& view, const std::string& name, double fallback) {
  const double value = view.number(name, fallback);
  if (!(value > 0)) view.malformed("the key " + name + " must be > 0");
  return value;
}

/// A table of divisors of the frequencies.
std::vector<Enclosure> divided(CheckpointView& view, const std::string& table, std::vector<Enclosure> frequencies) {
  const auto planes = static_cast<std::int64_t>(frequencies.size());
  const StoredTensor& stored = *view.checkpoint().find(view.vector(table, planes).tensor);
  const TensorBlock block = view.checkpoint().read(stored, {0, 1}, {0, planes});
  for (std::int64_t plane = 0; plane < planes; ++plane) {
    const double middle = block.values(0, plane);
    if (!(middle - block.radius > 0)) view.malformed("the numbers of the tensor " + table + " must be > 0");
    frequencies[static_cast<std::size_t>(plane)] /= Enclosure::between(middle - block.radius, middle + block.radius);
  }
  return frequencies;
}

}  // namespace

ModelDescription describe_gguf(const Checkpoint& checkpoint) {
  const std::optional<std::string> type = checkpoint.config().text("general.architecture");
  if (!type) throw TensorFileError(checkpoint.config().file() + ": needs the key general.architecture");
  const auto known = gguf_traits.find(*type);
  if (known == gguf_traits.end()) {
    std::string names;
    for (const auto& [name, unused] : gguf_traits) names += (names.empty() ? "" : ", ") + name;
    throw UnsupportedTensorFile(checkpoint.path() + ": the architecture " + *type + " is not one of " + names);
  }
  const GgufTraits& traits = known->second;
  CheckpointView view(checkpoint, *type, *type);
  ModelDescription model = gguf_sizes(view);
  HeadDescription head = gguf_pattern(view, model, traits);
  view.layers_at("blk.", model.layers);
  std::optional<Rotary> rotary, windowed_rotary;
  if (traits.rotary) rotary = read_gguf_rotary(view, model, traits.planes);
  if (traits.two_bases) windowed_rotary = read_gguf_rotary(view, model, traits.planes, true);
  if (traits.norm_behind) head.input_norm = gguf_norm(view, traits, "token_embd_norm", model.hidden);
  for (std::int64_t layer = 0; layer < model.layers; ++layer) {
    head.layer = static_cast<int>(layer);
    place_gguf_attention(view, model, traits, view.layer(layer) + "attn_", head);
    if (traits.input_norm && !traits.norm_behind) {
      head.input_norm = gguf_norm(view, traits, view.layer(layer) + "attn_norm", model.hidden);
    }
    const bool windowed = traits.window_period != 0 && (layer + 1) % traits.window_period != 0;
    head.window = windowed ? Window(view.count("attention.sliding_window")) : std::nullopt;
    head.rotary = windowed && windowed_rotary ? windowed_rotary : rotary;
    add_heads(model, head, {.key_first = traits.fused ? model.heads * model.head_dim : 0});
    hold_gguf_others(view, model, traits, view.layer(layer));
    if (traits.norm_behind) {
      head.input_norm = gguf_norm(view, traits, view.layer(layer) + "layer_output_norm", model.hidden);
    }
  }
  finish_gguf(view, traits);
  return model;
}

Rotary read_gguf_rotary(CheckpointView& view, const ModelDescription& model, PlaneLayout layout, bool windowed) {
  view.require_head_dim(model.head_dim);
  Rotary rotary = {.width = view.count("rope.dimension_count", model.head_dim), .layout = layout};
  if (rotary.width > model.head_dim || rotary.width % 2 != 0) {
    view.malformed("rope.dimension_count must be even and at most " + std::to_string(model.head_dim));
  }
  const double theta = positive_number(view, "rope.freq_base", 10000);
  const Enclosure base(windowed ? positive_number(view, "rope.freq_base_swa", 10000) : theta);
  rotary.frequencies = {base_frequencies(base, rotary.width)};
  const std::string given = view.text("rope.scaling.type").value_or("none");
  const std::string type = windowed ? "none" : given;
  const double factor = positive_number(view, "rope.scaling.factor", 1);
  const Enclosure original(view.count("rope.scaling.original_context_length", model.context));
  view.key("rope.scaling.finetuned");
  rotary.factor = Enclosure(positive_number(view, "rope.scaling.attn_factor", 1));
  if (type == "yarn") {
    if (!(base - Enclosure(1)).certainly_positive()) view.malformed("yarn needs rope.freq_base > 1");
    const YarnScaling yarn = {.factor = Enclosure(factor),
                              .beta_fast = Enclosure(positive_number(view, "rope.scaling.yarn_beta_fast", 32)),
                              .beta_slow = Enclosure(positive_number(view, "rope.scaling.yarn_beta_slow", 1)),
                              .original_context = original};
    rotary.frequencies = {yarn_frequencies(base, rotary.width, yarn)};
    rotary.factor = rotary.factor * yarn_magnitude(factor);
  } else if (type == "linear") {
    for (Enclosure& frequency : rotary.frequencies[0]) frequency /= Enclosure(factor);
  } else if (type != "none" && type != "longrope") {
    view.unsupported("the rope type " + type + " is not known");
  }
  const std::vector<Enclosure> unscaled = rotary.frequencies[0];
  if (view.has("rope_freqs.weight")) rotary.frequencies = {divided(view, "rope_freqs.weight", unscaled)};
  if (view.has("rope_factors_short.weight")) {
    rotary.frequencies = {divided(view, "rope_factors_short.weight", unscaled),
                          divided(view, "rope_factors_long.weight", unscaled)};
    rotary.short_items = static_cast<std::int64_t>(original.midpoint());
  } else if (type == "longrope") {
    view.malformed("the rope type longrope needs the tensor rope_factors_short.weight");
  }
  return rotary;
}

}  // namespace softcheck::models
