#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>
#include <string>

#include "models/architectures/view.hpp"
#include "models/forward/network.hpp"

namespace softcheck::models {
namespace {

/// What decoders of Llama's layout call the parts that a head's description does not name.
struct DecoderParts {
  std::string words, layer_path, last_norm;
  std::string value, output, gate, up, down;  // below a layer
  std::string fused_heads, fused_gate;        // Phi-3's
  std::string middle_norm, attention_end, feed_forward_end;
};

const DecoderParts transformers_parts = {.words = "embed_tokens",
                                         .layer_path = "layers.",
                                         .last_norm = "norm",
                                         .value = "self_attn.v_proj",
                                         .output = "self_attn.o_proj",
                                         .gate = "mlp.gate_proj",
                                         .up = "mlp.up_proj",
                                         .down = "mlp.down_proj",
                                         .fused_heads = "self_attn.qkv_proj",
                                         .fused_gate = "mlp.gate_up_proj",
                                         .middle_norm = "post_attention_layernorm",
                                         .attention_end = "post_attention_layernorm",
                                         .feed_forward_end = "post_feedforward_layernorm"};
const DecoderParts gguf_parts = {.words = "token_embd",
                                 .layer_path = "blk.",
                                 .last_norm = "output_norm",
                                 .value = "attn_v",
                                 .output = "attn_output",
                                 .gate = "ffn_gate",
                                 .up = "ffn_up",
                                 .down = "ffn_down",
                                 .fused_heads = "attn_qkv",
                                 .fused_gate = "ffn_up",
                                 .middle_norm = "ffn_norm",
                                 .attention_end = "post_attention_norm",
                                 .feed_forward_end = "post_ffw_norm"};

class DecoderNetwork {
 public:
  DecoderNetwork(const Checkpoint& checkpoint, const ModelDescription& model)
      : checkpoint_(checkpoint),
        model_(model),
        gguf_(checkpoint.format() == "gguf"),
        view_(checkpoint, model.architecture,
              gguf_                            ? model.architecture
              : model.architecture == "gemma3" ? "text_config"
                                               : ""),
        parts_(gguf_ ? gguf_parts : transformers_parts),
        gemma_(model.architecture.starts_with("gemma")),
        images_(!gguf_ && model.architecture == "gemma3"),
        fused_(model.architecture == "phi3"),
        olmo_(model.architecture == "olmo2"),
        experts_(model.architecture == "gpt_oss"),
        norms_at_ends_((gemma_ && model.architecture != "gemma") || olmo_) {}

  Network describe() {
    if (!gguf_) view_.find_prefix(parts_.words + ".weight");
    view_.layers_at(parts_.layer_path, model_.layers);
    const StoredTensor& words = view_.table(parts_.words + ".weight", model_.hidden);
    Network network = {.embeddings = {.words = words.name,
                                      .factor = gemma_ ? std::sqrt(static_cast<double>(model_.hidden)) : 1,
                                      .vocabulary = words.rows()},
                       .epsilon = epsilon(),
                       .activation = activation(),
                       .output = output(words)};
    for (std::int64_t layer = 0; layer < model_.layers; ++layer) network.blocks.push_back(block(layer));
    return network;
  }

 private:
  double epsilon() {
    if (gguf_) return view_.epsilon("attention.layer_norm_rms_epsilon", 1e-6);
    return view_.epsilon("rms_norm_eps", fused_ || olmo_ || experts_ ? 1e-5 : 1e-6);
  }

  Activation activation() {
    if (gguf_) return gemma_ ? Activation::gelu_tanh : Activation::silu;
    if (model_.architecture == "gemma") {
      const Activation named = known_activation(view_, "hidden_act", "gelu_pytorch_tanh");
      // The first configurations say gelu, and their models have its tanh form.
      return named == Activation::gelu ? Activation::gelu_tanh : named;
    }
    return gemma_ ? known_activation(view_, "hidden_activation", "gelu_pytorch_tanh")
                  : known_activation(view_, "hidden_act", "silu");
  }

  InputNorm norm(const std::string& name, std::int64_t width) {
    return {
        .kind = NormKind::rms_norm, .gain = view_.vector(name + ".weight", width), .gain_plus_one = gemma_ && !gguf_};
  }

  Linear linear(const std::string& name, std::int64_t outputs, std::int64_t inputs) {
    Linear result = {.weights = {.tensor = view_.matrix(name + ".weight", outputs, inputs), .outputs = {0, outputs}}};
    if (view_.has(name + ".bias")) result.bias = view_.vector(name + ".bias", outputs);
    return result;
  }

  static Linear rows(Linear linear, std::int64_t first, std::int64_t count) {
    linear.weights.outputs = {first, count};
    linear.bias.entries = {first, count};
    return linear;
  }

  Block block(std::int64_t layer) {
    const std::string below = view_.layer(layer);
    const std::int64_t queries = model_.heads * model_.head_dim, keys = model_.key_heads * model_.head_dim;
    Block block = block_of_heads(model_, layer);
    if (images_ && block.attention.window) {
      // The description's has room for the tokens of an image, which see each other; ids alone have none.
      *block.attention.window -=
          static_cast<std::uint64_t>(checkpoint_.config().integer("mm_tokens_per_image").value_or(256) - 1);
    }
    block.value =
        fused_ ? rows(linear(below + parts_.fused_heads, queries + 2 * keys, model_.hidden), queries + keys, keys)
               : linear(below + parts_.value, keys, model_.hidden);
    block.output = linear(below + parts_.output, model_.hidden, queries);
    if (experts_) {
      block.middle_norm = norm(below + parts_.middle_norm, model_.hidden);
      block.experts = experts(below + "mlp.");
      return block;
    }
    const std::string up = below + (fused_ ? parts_.fused_gate : parts_.up);
    const std::int64_t stored = view_.table(up + ".weight", model_.hidden).rows(), inner = fused_ ? stored / 2 : stored;
    block.up = linear(up, stored, model_.hidden);
    block.gate = fused_ ? rows(block.up, 0, inner) : linear(below + parts_.gate, inner, model_.hidden);
    if (fused_) block.up = rows(block.up, inner, inner);
    block.down = linear(below + parts_.down, model_.hidden, inner);
    if (norms_at_ends_) {
      block.attention_end = norm(below + parts_.attention_end, model_.hidden);
      block.feed_forward_end = norm(below + parts_.feed_forward_end, model_.hidden);
    }
    const bool before = norms_at_ends_ && !gguf_;
    if (!olmo_)
      block.middle_norm = norm(below + (before ? "pre_feedforward_layernorm" : parts_.middle_norm), model_.hidden);
    return block;
  }

  Experts experts(const std::string& below) {
    const std::int64_t count = view_.count("num_local_experts", 128), inner = view_.count("intermediate_size", 2880);
    Experts experts = {.router = linear(below + "router", count, model_.hidden),
                       .gate_and_up = expert_linear(below + "experts.gate_up_proj", count, 2 * inner, model_.hidden),
                       .down = expert_linear(below + "experts.down_proj", count, model_.hidden, inner),
                       .chosen = view_.count("num_experts_per_tok", 4),
                       .alpha = view_.number("swiglu_alpha", 1.702),
                       .limit = view_.number("swiglu_limit", 7)};
    if (!(experts.limit > 0)) view_.malformed("the key swiglu_limit must be > 0");
    return experts;
  }

  ExpertLinear expert_linear(const std::string& name, std::int64_t count, std::int64_t outputs, std::int64_t inputs) {
    // Blocks of MXFP4 run along the inputs.
    const bool transposed = !view_.has(name + "_blocks");
    const std::int64_t rows = transposed ? inputs : outputs, columns = transposed ? outputs : inputs;
    return {view_.tensor(name + (transposed ? "" : "_blocks"), {count, rows, columns}),
            view_.tensor(name + "_bias", {count, outputs}), transposed};
  }

  std::optional<Output> output(const StoredTensor& words) {
    Output result = {.norm = norm(parts_.last_norm, model_.hidden)};
    if (gguf_) {
      result.words.tensor =
          view_.has("output.weight") ? view_.matrix("output.weight", words.rows(), model_.hidden) : words.name;
    } else if (const StoredTensor* head = own_head()) {
      if (head->shape != words.shape)
        view_.malformed("the tensor " + head->name + " must have the shape of " + words.name);
      result.words.tensor = head->name;
      if (view_.flag("tie_word_embeddings", gemma_)) require_equal(*head, words);
    } else if (view_.flag("tie_word_embeddings", gemma_)) {
      result.words.tensor = words.name;
    } else {
      return std::nullopt;
    }
    result.words.outputs = {0, words.rows()};
    const std::string key = "final_logit_softcapping";
    result.softcap = view_.optional_number(key);
    if (model_.architecture == "gemma2" && !view_.states_key(key)) result.softcap = 30;
    if (result.softcap && !(*result.softcap > 0)) view_.malformed("the key " + key + " must be > 0");
    return result;
  }

  void require_equal(const StoredTensor& head, const StoredTensor& words) const {
    constexpr std::int64_t step = 1024;
    for (std::int64_t first = 0; first < words.rows(); first += step) {
      const IndexRange rows = {first, std::min(step, words.rows() - first)}, columns = {0, words.columns()};
      if (checkpoint_.read(head, rows, columns).values == checkpoint_.read(words, rows, columns).values) continue;
      view_.malformed("tie_word_embeddings is set, and the tensor " + head.name + " differs from " + words.name);
    }
  }

  const StoredTensor* own_head() const {
    for (const char* name : {"lm_head.weight", "_orig_mod.lm_head.weight", "language_model.lm_head.weight"}) {
      if (const StoredTensor* head = checkpoint_.find(name)) return head;
    }
    return nullptr;
  }

  const Checkpoint& checkpoint_;
  const ModelDescription& model_;
  bool gguf_;
  CheckpointView view_;
  const DecoderParts& parts_;
  bool gemma_, images_, fused_, olmo_, experts_, norms_at_ends_;
};

}  // namespace

Network decoder_network(const Checkpoint& checkpoint, const ModelDescription& model) {
  return DecoderNetwork(checkpoint, model).describe();
}

}  // namespace softcheck::models
