// What may change a bound is refused by name, and what contradicts itself is found: a checkpoint that is described,
// changed in one place, and the line that must come of it. Auxiliary them changes that alter nothing.
#include <gmock/gmock.h>

#include <cstdint>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "models/architectures/description.hpp"
#include "models/read/checkpoint.hpp"
#include "models/read/file_errors.hpp"
#include "proptests/tests/models/checkpoint_files.hpp"
#include "proptests/tests/models/edited_checkpoint.hpp"

namespace softcheck::models {
namespace {

using proptests::f32_bytes;
using proptests::gguf_text;
using proptests::GgufFile;
using proptests::little_endian;
using proptests::TensorFolder;
using ::testing::HasSubstr;
using ::testing::StartsWith;

/// "unsupported: ..." or "malformed: ..." with the error's text, or "described".
std::string outcome_of(const Checkpoint& checkpoint) {
  try {
    describe(checkpoint);
  } catch (const UnsupportedTensorFile& error) {
    return std::string("unsupported: ") + error.what();
  } catch (const TensorFileError& error) {
    return std::string("malformed: ") + error.what();
  }
  return "described";
}

std::string outcome_of(const CheckpointEdit& edit) { return outcome_of(EditedCheckpoint(edit)); }

/// The GGUF file of a small Llama with other bytes for one key's type and value, which have 8 bytes. One
/// more key, a comment, keeps the tensors aligned.
std::string edited_gguf(std::string_view key, const std::string& value) {
  std::ifstream file(SOFTCHECK_SOURCE_DIR "/proptests/tests/models/checkpoints/gguf-llama/model.gguf",
                     std::ios::binary);
  std::string bytes{std::istreambuf_iterator<char>(file), {}};
  const std::size_t place = bytes.find(gguf_text(key));
  if (place == bytes.npos) throw std::logic_error("no key " + std::string(key));
  const std::string name = gguf_text("general.comment") + little_endian(GgufFile::text, 4);
  std::string text;
  while ((name.size() + 8 + text.size() + value.size() - 8) % 32 != 0) text += ' ';
  bytes.replace(place + gguf_text(key).size(), 8, value + name + gguf_text(text));
  bytes.at(16) = static_cast<char>(bytes.at(16) + 1);  // the number of keys
  return bytes;
}

std::string outcome_of_gguf(std::string_view key, const std::string& value) {
  const TensorFolder folder;
  return outcome_of(*open_checkpoint(folder.write("model.gguf", edited_gguf(key, value))));
}

std::string gguf_counts(const std::vector<std::uint32_t>& counts) {
  std::string bytes =
      little_endian(GgufFile::array, 4) + little_endian(GgufFile::u32, 4) + little_endian(counts.size(), 8);
  for (const std::uint32_t count : counts) bytes += little_endian(count, 4);
  return bytes;
}

struct Refusal {
  CheckpointEdit edit;
  std::string word;
};

void expect_refusals(const std::string& kind, const std::vector<Refusal>& refusals) {
  for (const Refusal& refusal : refusals) {
    const std::string outcome = outcome_of(refusal.edit);
    EXPECT_THAT(outcome, StartsWith(kind + ": ")) << refusal.word;
    EXPECT_THAT(outcome, HasSubstr(refusal.word));
  }
}

TEST(RefusedModels, NameTheKeyThatIsNotKnown) {
  expect_refusals(
      "unsupported",
      {{{"llama", R"({"model_type": "opt"})"}, "the model_type opt is not one of bert, "},
       {{"llama", R"({"model_type": "bloom"})"}, "the model_type bloom is not described: ALiBi"},
       {{"llama", R"({"model_type": "llama4"})"}, "attn_temperature_tuning: scores are multiplied by the logarithm"},
       {{"smollm3", R"({"use_sliding_window": true})"}, "the key use_sliding_window "},
       {{"esm", R"({"position_embedding_type": "relative_key"})"}, "the key position_embedding_type "},
       {{"clip", R"({"text_config": {"rope_theta": 10000}})"}, "the key text_config.rope_theta "},
       {{"siglip", R"({"vision_config": {"use_rel_pos": true}})"}, "the key vision_config.use_rel_pos "},
       {{"whisper", R"({"position_embedding_type": "relative"})"}, "the key position_embedding_type "},
       {{"t5", R"({"attention_scale": 0.5})"}, "the key attention_scale "},
       {{"deepseek_v3", R"({"attention_bias": true})"}, "the key attention_bias "},
       {{"deepseek_v2", R"({"q_lora_rank": 20})"}, "q_a_layernorm.weight is missing"},
       {{"deepseek_v3", R"({"num_key_value_heads": 1})"}, "the key num_key_value_heads "},
       {{"deepseek_v3", R"({"rope_parameters": {"mscale": 1.0}})"}, "mscale is not mscale_all_dim"},
       {{"esm", R"({"is_folding_model": true})"}, "the key is_folding_model "},
       {{"llama", R"({"alibi": true})"}, "the key alibi "},
       {{"llama", R"({"use_logn_attn": true})"}, "the key use_logn_attn "},
       {{"llama", R"({"attention_multiplier": 0.5})"}, "the key attention_multiplier "},
       {{"llama", R"({"attn_temperature_tuning": true})"}, "the key attn_temperature_tuning "},
       {{"llama", R"({"quantization_config": {"quant_method": "gptq"}})"}, "the key quantization_config "},
       {{"gpt_oss", R"({"quantization_config": {"quant_method": "mxfp4"}})"}, "the key quantization_config "},
       {{"gemma3", R"({"quantization_config": {"quant_method": "gptq"}})"}, "the key quantization_config "},
       {{"gemma3", R"({"text_config": {"altup_num_inputs": 4}})"}, "the key text_config.altup_num_inputs "},
       {{"mistral", R"({"attention_bias": true})"}, "the key attention_bias "},
       {{"mistral", R"({"layer_types": ["full_attention", "full_attention"]})"}, "the key layer_types "},
       {{"qwen2", R"({"layer_types": ["full_attention", "linear_attention"]})"}, "linear_attention"},
       {{"bert", R"({"position_embedding_type": "relative_key"})"}, "the key position_embedding_type "},
       {{"bert", R"({"add_cross_attention": true})"}, "the key add_cross_attention "},
       {{"bert", R"({"is_encoder_decoder": true})"}, "the key is_encoder_decoder "},
       {{"bert", R"({"pruned_heads": {"0": [1]}})"}, "the key pruned_heads "},
       {{"gpt2", R"({"add_cross_attention": true})"}, "the key add_cross_attention "},
       {{"gemma2", R"({"use_bidirectional_attention": true})"}, "the key use_bidirectional_attention "},
       {{"gemma3_text", R"({"rope_scaling": {"type": "linear", "factor": 8.0}})"},
        "rope_parameters and rope_scaling"}});
}

TEST(RefusedModels, NameTheRopeKeyThatIsNotKnown) {
  expect_refusals(
      "unsupported",
      {{{"llama", R"({"rope_parameters": {"rope_type": "axial"}})"}, "the rope type axial "},
       {{"qwen2", R"({"rope_parameters": {"mrope_section": [2, 1, 1]}})"}, "rope_parameters.mrope_section "},
       {{"llama", R"({"partial_rotary_factor": 0.5})"}, "the key partial_rotary_factor "},
       {{"gemma3_text", R"({"rope_parameters": {"rope_type": "default"}})"}, "rope_parameters.rope_type "}});
  expect_refusals(
      "malformed",
      {{{"llama", R"({"rope_parameters": {"factor": null}})"}, "rope_parameters.factor is missing"},
       {{"llama", R"({"rope_parameters": {"factor": 0}})"}, "rope_parameters.factor must be > 0"},
       {{"llama", R"({"rope_parameters": {"low_freq_factor": 4.0}})"}, "high_freq_factor"},
       {{"phi3", R"({"rope_parameters": {"long_factor": [1.0]}})"}, "long_factor must have 6 numbers, got 1"},
       {{"phi3", R"({"rope_parameters": {"short_factor": [1, 1, 1, 1, 1, -1]}})"}, "short_factor must be > 0"},
       {{"qwen2", R"({"rope_parameters": {"rope_theta": 0.5}})"}, "rope_theta > 1"},
       {{"gpt_neox", R"({"rope_parameters": {"partial_rotary_factor": 1.5}})"}, "the rotated part of a head"},
       {{"gpt_oss", R"({"rope_parameters": null})"}, "rope_parameters or rope_scaling is missing"}});
}

// transformers divides max_position_embeddings by original_max_position_embeddings where yarn's factor is null.
TEST(RefusedModels, NameYarnsMissingFactor) {
  expect_refusals("malformed",
                  {{{"gpt_oss", R"({"rope_parameters": {"factor": null, "original_max_position_embeddings": null}})"},
                    "rope_parameters.factor is missing"},
                   {{"gpt_neox", R"({"max_position_embeddings": null, "rope_parameters": {"rope_type": "yarn",
        "original_max_position_embeddings": 1024}})"},
                    "rope_parameters.factor is missing"}});
  EXPECT_EQ(outcome_of(CheckpointEdit{"gpt_oss", R"({"rope_parameters": {"factor": null}})"}), "described");
}

TEST(RefusedModels, HaveNegativeEpsilons) {
  for (const std::string value : {"-1", "-1e-12"}) {
    const auto negative = [&](const std::string& key) { return "{\"" + key + "\": " + value + "}"; };
    const auto nested = [&](const std::string& section, const std::string& key) {
      return "{\"" + section + "\": " + negative(key) + "}";
    };
    std::vector<Refusal> refusals = {{{"gpt2", negative("layer_norm_epsilon")}, "layer_norm_epsilon must be >= 0"},
                                     {{"gemma3", nested("text_config", "rms_norm_eps")}, "text_config.rms_norm_eps"}};
    for (const std::string folder : {"bert", "roberta", "xlm-roberta", "vit", "gpt_neox"}) {
      refusals.push_back({{folder, negative("layer_norm_eps")}, "the key layer_norm_eps must be >= 0"});
    }
    for (const std::string folder :
         {"gemma", "gemma2", "gemma3_text", "gpt_oss", "llama", "mistral", "olmo2", "phi3", "qwen2", "qwen3"}) {
      refusals.push_back({{folder, negative("rms_norm_eps")}, "the key rms_norm_eps must be >= 0"});
    }
    expect_refusals("malformed", refusals);
  }
  const std::string key = "llama.attention.layer_norm_rms_epsilon";
  const auto of_gguf = [&](float epsilon) {
    return outcome_of_gguf(key, little_endian(GgufFile::f32, 4) + f32_bytes({epsilon}));
  };
  EXPECT_THAT(of_gguf(-1), HasSubstr("the key " + key + " must be >= 0"));
  EXPECT_EQ(of_gguf(0), "described");
}

// llama.cpp reads an array where layers may have other numbers of heads.
TEST(RefusedModels, HaveOtherHeadsInSomeLayers) {
  const std::string keys = "llama.attention.head_count_kv", queries = "llama.attention.head_count";
  EXPECT_EQ(outcome_of_gguf(keys, gguf_counts({2, 2})), "described");
  EXPECT_EQ(outcome_of_gguf(queries, gguf_counts({4, 4})), "described");
  EXPECT_THAT(outcome_of_gguf(keys, gguf_counts({2, 1})), StartsWith("unsupported: "))
      << outcome_of_gguf(keys, gguf_counts({2, 1}));
  EXPECT_THAT(outcome_of_gguf(keys, gguf_counts({2, 1})), HasSubstr(keys + " has layers with 2 and with 1"));
  EXPECT_THAT(outcome_of_gguf(keys, gguf_counts({2, 2, 2})), HasSubstr(keys + " must have 2 numbers"));
  EXPECT_THAT(outcome_of_gguf(keys, gguf_counts({2, 0})), HasSubstr("must be in 1 ..."));
  EXPECT_THAT(outcome_of_gguf(keys, gguf_counts({3, 3})), HasSubstr("4 heads cannot share 3 key heads"));
}

TEST(RefusedModels, NameTheTensorThatIsNotKnown) {
  expect_refusals(
      "unsupported",
      {{{"llama", "{}", {{"model.layers.0.self_attn.q_norm.weight", {8}}}}, "model.layers.0.self_attn.q_norm.weight"},
       {{"llama", "{}", {{"model.layers.1.self_attn.q_proj.lora_A.weight", {2, 32}}}}, "lora_A"},
       {{"llama", "{}", {{"model.layers.1.mlp.up_proj.weight_scale_inv", {1, 1}}}}, "weight_scale_inv"},
       {{"llama", "{}", {{"model.layers.0.self_attn.k_proj.qweight", {4, 32}}}}, "qweight"},
       {{"llama", "{}", {{"model.layers.0.input_layernorm.bias", {32}}}}, "input_layernorm.bias"},
       {{"mistral", "{}", {{"layers.0.self_attn.q_proj.bias", {48}}}}, "layers.0.self_attn.q_proj.bias"},
       {{"bert", "{}", {{"encoder.layer.0.attention.self.distance_embedding.weight", {9, 8}}}}, "distance_embedding"},
       {{"gpt2", "{}", {{"transformer.h.0.crossattention.q_attn.weight", {32, 32}}}}, "crossattention"},
       {{"qwen3", "{}", {{"model.layers.0.self_attn.sinks", {4}}}}, "model.layers.0.self_attn.sinks"},
       {{"whisper", "{}", {{"model.decoder.layers.0.encoder_attn.q_norm.weight", {16}}}}, "encoder_attn.q_norm"},
       {{"clip", "{}", {{"vision_model.encoder.layers.0.rel_pos_h", {9}}}}, "rel_pos_h"},
       {{"t5", "{}", {{"encoder.block.1.layer.0.SelfAttention.relative_attention_bias.weight", {8, 2}}}},
        "encoder.block.1.layer.0.SelfAttention.relative_attention_bias.weight"},
       {{"llama", "{}", {{"model.layers.0.input_layernorm.weight", {}}}}, "without the norm"},
       {{"olmo2", "{}", {{"model.layers.1.self_attn.k_norm.weight", {}}}}, "without the norm"},
       {{"bert", "{}", {{"embeddings.LayerNorm.weight", {}}}}, "without the norm"}});
}

TEST(RefusedModels, ContradictTheirConfiguration) {
  expect_refusals(
      "malformed",
      {{{"llama", R"({"model_type": null})"}, "model_type"},
       {{"llama", R"({"num_attention_heads": 8})"},
        "q_proj.weight must be (64, 32) by the configuration, got (32, 32)"},
       {{"llama", R"({"num_key_value_heads": 3})"}, "4 heads cannot share 3 key heads"},
       {{"llama", R"({"hidden_size": 0})"}, "hidden_size must be in 1 ... 2^31 - 1, got 0"},
       {{"llama", R"({"num_hidden_layers": 1})"}, "1 layers, and there is a tensor model.layers.1."},
       {{"llama", R"({"num_hidden_layers": 3})"}, "model.layers.2."},
       {{"qwen2", R"({"num_hidden_layers": 2000000000, "layer_types": null})"}, "2000000000, and there are only"},
       {{"llama", R"({"head_dim": 42})"}, "42 coordinates by the configuration, and no tensor has more than 40 rows"},
       {{"llama", R"({"head_dim": 1073741824})"}, "1073741824 coordinates by the configuration, and no tensor"},
       {{"gpt_neox", R"({"hidden_size": 2147483644})"}, "536870911 coordinates by the configuration"},
       {{"llama", R"({"attention_bias": true})", {{"model.layers.1.self_attn.k_proj.bias", {}}}},
        "k_proj.bias is missing"},
       {{"llama", "{}", {{"model.layers.0.self_attn.q_proj.weight", {}}}}, "self_attn.q_proj.weight"},
       {{"llama", "{}", {{"model.layers.0.input_layernorm.weight", {31}}}},
        "must be (32) by the configuration, got (31)"},
       {{"gpt2", "{}", {{"transformer.h.0.attn.c_attn.weight", {96, 32}}}}, "must be (32, 96)"},
       {{"phi3", R"({"num_key_value_heads": 4})"}, "qkv_proj.weight must be (192, 64)"},
       {{"gpt_oss", "{}", {{"model.layers.0.self_attn.sinks", {5}}}}, "sinks must be (4)"},
       {{"qwen2", R"({"layer_types": ["full_attention"]})"}, "layer_types must have 2 entries, got 1"},
       {{"qwen2", R"({"use_sliding_window": false})"}, "use_sliding_window"},
       {{"gemma2", R"({"attn_logit_softcapping": -1.0})"}, "attn_logit_softcapping must be > 0"},
       {{"gemma2", R"({"query_pre_attn_scalar": 0})"}, "query_pre_attn_scalar must be > 0"},
       {{"bert", R"({"num_attention_heads": 5})"}, "a multiple of the 5 heads"},
       {{"clip", R"({"vision_config": {"num_attention_heads": 5}})"}, "a multiple of the 5 heads"},
       {{"clip", R"({"text_config_dict": {"hidden_size": 32}})"},
        "text_config_dict.num_attention_heads and text_config.num_attention_heads contradict each other: 8 and 4"},
       {{"whisper", R"({"decoder_attention_heads": 3})"}, "a multiple of the 3 heads"},
       {{"deepseek_v3", "{}", {{"model.layers.2.eh_proj.weight", {32, 64}}}}, "2 layers, and there is a tensor"},
       {{"deepseek_v2", R"({"v_head_dim": 8})"}, "kv_b_proj.weight must be (36, 16)"},
       {{"t5", R"({"d_kv": 13})"}, "SelfAttention.q.weight must be (26, 32) by the configuration, got (24, 32)"},
       {{"t5", R"({"relative_attention_num_buckets": 9})"}, "relative_attention_bias.weight must be (9, 2)"},
       {{"smollm3", R"({"no_rope_layers": [1]})"}, "no_rope_layers must have 2 numbers, got 1"},
       {{"granite", R"({"attention_multiplier": 0})"}, "attention_multiplier must be > 0"},
       {{"roberta", R"({"pad_token_id": 63})"}, "pad_token_id"},
       {{"vit", R"({"patch_size": 13})"}, "image_size"}});
}

// What no bound depends on: every architecture's other parts, and keys that say the same twice.
TEST(RefusedModels, ContradictTheirConfigurationElsewhere) {
  const std::string llama = "model.layers.0.";
  expect_refusals(
      "malformed",
      {{{"llama", "{}", {{llama + "self_attn.o_proj.bias", {}}}}, "o_proj.bias is missing, and by the configuration"},
       {{"llama", R"({"mlp_bias": true})"}, "mlp.gate_proj.bias is missing"},
       {{"llama", "{}", {{llama + "mlp.down_proj.bias", {32}}}}, "down_proj.bias is there, and by the configuration"},
       {{"llama", R"({"mlp_bias": true})", {{llama + "mlp.gate_proj.bias", {24}}, {llama + "mlp.up_proj.bias", {23}}}},
        "up_proj.bias must be (24) by the configuration, got (23)"},
       {{"mistral", "{}", {{"layers.0.self_attn.v_proj.bias", {24}}}}, "v_proj.bias is there"},
       {{"qwen2", "{}", {{llama + "self_attn.o_proj.bias", {32}}}}, "o_proj.bias is there"},
       {{"gpt_neox", R"({"attention_bias": false})"}, "attention.dense.bias is there"},
       {{"vit", R"({"qkv_bias": false})"}, "value.bias is there"},
       {{"clip", R"({"vision_config": {"patch_size": 4}})"}, "position_embedding.weight must be (10, 36)"},
       {{"siglip", R"({"text_config": {"max_position_embeddings": 25}})"},
        "position_embedding.weight must be (25, 32)"},
       {{"whisper", R"({"max_source_positions": 12})"}, "encoder.embed_positions.weight must be (12, 32)"},
       {{"whisper", "{}", {{"model.encoder.layers.0.self_attn.k_proj.bias", {32}}}}, "k_proj.bias is there"},
       {{"t5", R"({"d_ff": 25})"}, "DenseReluDense.wi.weight must be (25, 32)"},
       {{"llama", R"({"intermediate_size": 25})"},
        "gate_proj.weight must be (25, 32) by the configuration, got (24, 32)"},
       {{"phi3", R"({"intermediate_size": 25})"}, "gate_up_proj.weight must be (50, 64)"},
       {{"gemma3", R"({"text_config": {"intermediate_size": 25}})"}, "gate_proj.weight must be (25, 32)"},
       {{"bert", R"({"intermediate_size": 25})"}, "intermediate.dense.weight must be (25, 32)"},
       {{"distilbert", R"({"hidden_dim": 25})"}, "ffn.lin1.weight must be (25, 32)"},
       {{"gpt2", R"({"n_inner": 25})"}, "c_fc.weight must be (32, 25)"},
       {{"gpt_neox", R"({"intermediate_size": 25})"}, "dense_h_to_4h.weight must be (25, 64)"},
       {{"vit", R"({"intermediate_size": 25})"}, "intermediate.dense.weight must be (25, 32)"},
       {{"vit", R"({"patch_size": 4})"}, "position_embeddings must be (1, 10, 32)"},
       {{"gpt_oss", R"({"num_local_experts": 4})"}, "router.weight must be (4, 32)"},
       {{"gpt_oss", R"({"num_experts_per_tok": 4})"}, "num_experts_per_tok must be at most num_local_experts 3"},
       {{"gpt_oss", R"({"intermediate_size": 25})"}, "gate_up_proj must be (3, 32, 50)"},
       {{"qwen3", R"({"vocab_size": 41})"}, "embed_tokens.weight must have vocab_size 41 rows, got 40"},
       {{"bert", R"({"type_vocab_size": 3})"}, "must have type_vocab_size 3 rows, got 2"},
       {{"gpt2", R"({"n_positions": 63})"}, "wpe.weight must be (63, 32)"},
       {{"llama", R"({"rope_theta": 500000})"},
        "rope_parameters.rope_theta and rope_theta contradict each other: 10000 and"},
       {{"gpt_neox", R"({"rotary_pct": 0.5})"},
        "partial_rotary_factor and rotary_pct contradict each other: 0.25 and 0.5"},
       {{"phi3", R"({"original_max_position_embeddings": 32})"}, "contradict each other: 16 and 32"},
       {{"llama", R"({"rope_parameters": {"rope_theta": 0}})"}, "rope_theta must be > 0, got 0"},
       {{"qwen3", R"({"rope_parameters": null, "rope_theta": -1})"}, "the key rope_theta must be > 0, got -1"}});
  expect_refusals("unsupported", {{{"llama", R"({"rope_scaling": {"type": "linear", "factor": 8.0}})"},
                                   "rope_parameters and rope_scaling"}});
  EXPECT_THAT(outcome_of_gguf("llama.feed_forward_length", little_endian(GgufFile::u32, 4) + little_endian(25, 4)),
              HasSubstr("ffn_gate.weight must be (25, 32) by the configuration, got (24, 32)"));
  EXPECT_EQ(outcome_of(CheckpointEdit{"llama", R"({"rope_theta": 10000})"}), "described");
}

TEST(RefusedModels, AreNotThoseWhoseOtherKeysChangeNothing) {
  for (
      const CheckpointEdit& edit : std::vector<CheckpointEdit>{
          {"llama", R"({"torch_dtype": "bfloat16", "attention_dropout": 0.1, "use_cache": false, "alibi": null,
              "_model_name_or_path": "a"})"},
          {"bert", R"({"pruned_heads": {}, "position_embedding_type": "absolute", "gradient_checkpointing": false})"},
          {"gpt2", R"({"n_ctx": 64, "task_specific_params": {"text-generation": {"max_length": 50}}})"},
          {"gpt2", "{}", {{"transformer.h.0.attn.bias", {1, 1, 64, 64}}}},
          {"clip", R"({"text_config_dict": {"num_attention_heads": 4}, "vision_config_dict": {}})"},
          {"deepseek_v3", R"({"num_nextn_predict_layers": 1})", {{"model.layers.2.eh_proj.weight", {32, 64}}}},
          {"gpt_neox", "{}", {{"gpt_neox.layers.0.attention.rotary_emb.inv_freq", {2}}}},
          {"gpt_oss",
           R"({"quantization_config": {"quant_method": "mxfp4", "modules_to_not_convert": ["model.layers.*.self_attn"]}})"},
      }) {
    EXPECT_EQ(outcome_of(edit), "described") << edit.config;
  }
}

}  // namespace
}  // namespace softcheck::models
