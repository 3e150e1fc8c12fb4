#include "models/architectures/harmless_keys.hpp"

#include <set>

namespace softcheck::models {
namespace {

const std::set<std::string_view> harmless = {
    // what the file is
    "_name_or_path", "_num_labels", "architectures", "auto_map", "dtype", "model_type", "torch_dtype",
    "transformers_version", "unsloth_fixed", "unsloth_version",
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

bool is_harmless_key(std::string_view key) { return harmless.contains(key); }

}  // namespace softcheck::models
