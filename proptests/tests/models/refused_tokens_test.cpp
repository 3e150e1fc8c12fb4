// Which models run on tokens, and what is wrong with ids and with other models.
#include <gmock/gmock.h>

#include <memory>
#include <string>

#include "models/forward/forward_pass.hpp"
#include "models/read/file_errors.hpp"
#include "proptests/tests/models/edited_checkpoint.hpp"
#include "proptests/tests/models/forward_inputs.hpp"

namespace softcheck::models {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

std::string outcome_on(const Checkpoint& checkpoint, const TokenIds& inputs) {
  try {
    const ForwardPass pass(checkpoint, describe(checkpoint), inputs, attention_kernel());
  } catch (const UnsupportedTensorFile& error) {
    return std::string("unsupported: ") + error.what();
  } catch (const TensorFileError& error) {
    return std::string("malformed: ") + error.what();
  }
  return "runs";
}

std::string outcome_on(const CheckpointEdit& edit, const TokenIds& inputs = {{1}}) {
  return outcome_on(EditedCheckpoint(edit), inputs);
}

TEST(RefusedTokens, NameTheModelThatDoesNotRun) {
  EXPECT_THAT(outcome_on({"vit"}), HasSubstr("in safetensors only bert, distilbert, gemma, "));
  EXPECT_THAT(outcome_on({"vit"}), HasSubstr(" run on tokens, got vit"));
  EXPECT_THAT(outcome_on({"gpt_oss"}), HasSubstr(" run on tokens, got gpt_oss"));
  const auto gguf = open_checkpoint(checkpoint_folder("gguf-bert") / "model.gguf");
  EXPECT_THAT(
      outcome_on(*gguf, {{1}}),
      HasSubstr("in gguf only gemma, gemma2, gemma3, llama, olmo2, phi3, qwen2, qwen3 run on tokens, got bert"));
  EXPECT_THAT(outcome_on({"llama", R"({"hidden_act": "gelu_10"})"}), HasSubstr("names the activation gelu_10; "));
  EXPECT_THAT(outcome_on({"bert", R"({"hidden_act": "gelu_10"})"}),
              HasSubstr("the key hidden_act names the activation gelu_10; gelu, gelu_new, "));
  EXPECT_THAT(outcome_on({"gpt2", R"({"activation_function": "mish"})"}),
              HasSubstr("the key activation_function names the activation mish; "));
  for (const char* folder : {"bert", "distilbert", "gemma3", "gpt2", "llama", "phi3", "roberta", "xlm-roberta"}) {
    EXPECT_EQ(outcome_on({folder}), "runs");
  }
}

TEST(RefusedTokens, NameTheTensorThatContradictsTheConfiguration) {
  EXPECT_THAT(outcome_on({"bert", "{}", {{"embeddings.token_type_embeddings.weight", {}}}}),
              StartsWith("malformed: bert: bert: the tensor embeddings.token_type_embeddings.weight is missing"));
  EXPECT_THAT(outcome_on({"bert", R"({"vocab_size": 41})"}),
              HasSubstr("word_embeddings.weight must have vocab_size 41 rows, got 40"));
  EXPECT_THAT(outcome_on({"bert", R"({"intermediate_size": 20})"}), HasSubstr("dense.weight must be (20, 32)"));
  EXPECT_THAT(outcome_on({"bert", R"({"vocab_size": null})"}), HasSubstr("vocab_size"));
  EXPECT_THAT(outcome_on({"llama", "{}", {{"model.layers.0.mlp.down_proj.weight", {32, 7}}}}),
              HasSubstr("mlp.down_proj.weight must be (32, "));
  EXPECT_THAT(outcome_on({"llama", "{}", {{"lm_head.weight", {41, 32}}}}),
              HasSubstr("lm_head.weight must have the shape"));
  EXPECT_THAT(outcome_on({"gpt2", R"({"n_inner": null})"}), HasSubstr("mlp.c_fc.weight must be (32, 128)"));
}

TEST(RefusedTokens, NameTheIdsThatTheModelCannotRead) {
  EXPECT_THAT(outcome_on({"bert"}, {{1}, {39, 40}}), HasSubstr("input 2: need ids of 0-39, which is the model's "
                                                               "vocabulary, got 40"));
  EXPECT_THAT(outcome_on({"bert"}, {std::vector<std::int64_t>(65, 1)}),
              HasSubstr("input 1: need at most 64 ids, which is the model's context, got 65"));
  EXPECT_EQ(outcome_on({"bert"}, {std::vector<std::int64_t>(64, 1)}), "runs");
  // RoBERTa's positions begin behind that of its padding, 1.
  EXPECT_THAT(outcome_on({"roberta"}, {std::vector<std::int64_t>(63, 5)}), HasSubstr("need at most 62 ids"));
  EXPECT_THAT(outcome_on({"bert"}, TokenIds(1025, std::vector<std::int64_t>(64, 1))),
              StartsWith("unsupported: tokens: need at most 65536 ids in all, got 65600"));
}

}  // namespace
}  // namespace softcheck::models
