#include "models/architectures/heads.hpp"

#include <set>
#include <utility>

namespace softcheck::models {

using numerics::Enclosure;

namespace {

const std::set<std::string_view> harmless = {
    // what the file is
    "_model_name_or_path", "_name_or_path", "_num_labels", "architectures", "auto_map", "dtype", "model_type",
    "torch_dtype", "transformers_version", "unsloth_fixed", "unsloth_version",
    // vocabulary and tokens
    "begin_suppress_tokens", "bos_token_id", "cls_token_id", "decoder_start_token_id", "eos_token_id",
    "forced_bos_token_id", "forced_eos_token_id", "image_token_id", "mask_token_id", "pad_token_id", "prefix",
    "sep_token_id", "suppress_tokens", "tokenizer_class", "type_vocab_size", "unk_token_id", "vocab_size",
    // training
    "attention_dropout", "attention_probs_dropout_prob", "classifier_dropout", "embd_pdrop", "gradient_checkpointing",
    "hidden_dropout", "hidden_dropout_prob", "initializer_range", "problem_type", "resid_pdrop",
    // feed-forward part and output; whether word embeddings serve twice
    "hidden_act", "id2label", "intermediate_size", "is_decoder", "label2id", "num_labels", "output_attentions",
    "output_hidden_states", "output_past", "pooler_act", "pooler_fc_size", "pooler_num_attention_heads",
    "pooler_num_fc_layers", "pooler_output_size", "pooler_size_per_head", "pooler_type", "return_dict",
    "task_specific_params", "tie_word_embeddings", "tie_encoder_decoder", "tie_weights_",
    // how the same numbers are computed
    "_attn_implementation", "_attn_implementation_autoset", "attn_implementation", "cache_implementation",
    "chunk_size_feed_forward", "pretraining_tp", "tf_legacy_loss", "torchscript", "use_bfloat16", "use_cache",
    // generation
    "bad_words_ids", "diversity_penalty", "do_sample", "early_stopping", "encoder_no_repeat_ngram_size",
    "exponential_decay_length_penalty", "finetuning_task", "length_penalty", "max_length", "min_length",
    "no_repeat_ngram_size", "num_beam_groups", "num_beams", "num_return_sequences", "output_scores",
    "remove_invalid_values", "repetition_penalty", "return_dict_in_generate", "temperature", "top_k", "top_p",
    "typical_p"};

}  // namespace

Enclosure inverse_root(const Enclosure& n) { return Enclosure(1) / sqrt(n); }

void add_heads(ModelDescription& model, const HeadDescription& pattern, const HeadRows& rows) {
  const std::int64_t width = model.head_dim;
  for (std::int64_t head = 0; head < model.heads; ++head) {
    const std::int64_t key_head = head * model.key_heads / model.heads;
    const IndexRange query = {rows.query_first + head * (rows.query_step ? rows.query_step : width), width};
    const IndexRange key = {rows.key_first + key_head * (rows.key_step ? rows.key_step : width), width};
    HeadDescription& added = model.head_list.emplace_back(pattern);
    added.head = static_cast<int>(head);
    added.key_head = static_cast<int>(key_head);
    added.query.outputs = query;
    added.key.outputs = key;
    if (!added.query_bias.tensor.empty()) added.query_bias.entries = query;
    if (!added.key_bias.tensor.empty()) added.key_bias.entries = key;
    if (!added.sink.tensor.empty()) added.sink.entries = {head, 1};
    if (added.distance_bias) added.distance_bias->head = head;
    // A norm over all heads has a gain of its own for each; else they share one.
    if (added.head_norm && added.head_norm->query_width != width) added.head_norm->query_gain.entries = query;
    if (added.head_norm && added.head_norm->key_width != width) added.head_norm->key_gain.entries = key;
  }
}

void add_part(ModelDescription& model, const std::string& name, ModelDescription part) {
  if (model.parts.empty()) {
    model.heads = part.heads;
    model.key_heads = part.key_heads;
    model.hidden = part.hidden;
    model.head_dim = part.head_dim;
    model.context = part.context;
  }
  for (HeadDescription& head : part.head_list) {
    head.layer += static_cast<int>(model.layers);
    model.head_list.push_back(std::move(head));
  }
  model.layers += part.layers;
  part.head_list.clear();
  part.architecture = name;
  model.parts.push_back(std::move(part));
}

std::optional<TokenInputs> token_inputs(CheckpointView& view, const ModelDescription& model, const std::string& tokens,
                                        double epsilon, const std::string& positions, IndexRange places,
                                        const std::string& types) {
  // transformers reads no file whose tables have other rows.
  view.hold_rows(tokens, "vocab_size");
  if (!positions.empty()) view.hold(positions, {places.first + places.count, model.hidden});
  if (!types.empty()) view.hold_rows(types, "type_vocab_size");
  if (!view.has(tokens) || !(epsilon > 0)) return std::nullopt;
  if (!positions.empty() && !view.has(positions)) return std::nullopt;
  if (!types.empty() && !view.has(types)) return std::nullopt;
  const auto table = [&](const std::string& name) { return view.table(name, model.hidden); };
  TokenInputs inputs = {.tokens = table(tokens).name, .position_rows = places, .epsilon = epsilon};
  if (!positions.empty()) inputs.positions = table(positions).name;
  if (!types.empty()) inputs.types = table(types).name;
  return inputs;
}

std::int64_t whole_head_dim(const CheckpointView& view, const ModelDescription& model) {
  if (model.hidden % model.heads == 0) return model.hidden / model.heads;
  view.malformed("the hidden size " + std::to_string(model.hidden) + " must be a multiple of the " +
                 std::to_string(model.heads) + " heads");
}

InputNorm layer_norm(CheckpointView& view, const std::string& name, std::int64_t hidden) {
  const bool old = !view.has(name + ".weight") && view.has(name + ".gamma");
  return {.kind = NormKind::layer_norm,
          .gain = view.norm_vector(name + (old ? ".gamma" : ".weight"), hidden),
          .offset = view.norm_vector(name + (old ? ".beta" : ".bias"), hidden)};
}

void check_groups(const CheckpointView& view, const ModelDescription& model) {
  if (model.heads % model.key_heads == 0) return;
  view.malformed(std::to_string(model.heads) + " heads cannot share " + std::to_string(model.key_heads) + " key heads");
}

bool is_harmless_key(std::string_view key) { return harmless.contains(key); }

}  // namespace softcheck::models
