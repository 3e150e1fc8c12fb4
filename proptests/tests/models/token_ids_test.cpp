// Files of ids, and what is wrong with others.
#include "models/forward/token_ids.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "models/forward/forward_pass.hpp"
#include "models/read/file_errors.hpp"
#include "models/report/checkpoint_run.hpp"
#include "models/report/head_observer.hpp"
#include "proptests/tests/models/edited_checkpoint.hpp"
#include "proptests/tests/models/forward_inputs.hpp"
#include "proptests/tests/models/observed_heads.hpp"

namespace softcheck::models {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class TokenFile {
 public:
  explicit TokenFile(const std::string& text)
      : path_(std::filesystem::path(::testing::TempDir()) / ("token_ids_" + std::to_string(::getpid()))) {
    std::ofstream(path_, std::ios::binary) << text;
  }
  ~TokenFile() { std::filesystem::remove(path_); }
  TokenFile(const TokenFile&) = delete;
  TokenFile& operator=(const TokenFile&) = delete;
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

std::string error_of(const std::string& text) {
  const TokenFile file(text);
  try {
    read_token_ids(file.path());
  } catch (const TensorFileError& error) {
    return error.what();
  }
  return "no error";
}

TEST(TokenIds, AreReadALineAtATime) {
  const TokenFile file("[1, 2,3]\r\n\n  4 5\t6 \n[ 7 ]\n2147483647");
  EXPECT_THAT(read_token_ids(file.path()),
              ElementsAre(ElementsAre(1, 2, 3), ElementsAre(4, 5, 6), ElementsAre(7), ElementsAre(2147483647)));
}

TEST(TokenIds, OtherTextsAreRefusedByTheirLine) {
  const std::string ids = "line 2: need ids of tokens, integers from 0 to 2^31 - 1, got ";
  EXPECT_THAT(error_of(""), HasSubstr("need a line of ids of tokens, got an empty file"));
  EXPECT_THAT(error_of(" \n\t\n"), HasSubstr("need a line of ids of tokens, got only blanks"));
  EXPECT_THAT(error_of("1\n[]"), HasSubstr(ids + "nothing"));
  EXPECT_THAT(error_of("1\n1,,2"), HasSubstr(ids + "',2'"));
  EXPECT_THAT(error_of("1\n1,"), HasSubstr(ids + "nothing"));
  EXPECT_THAT(error_of("1\n-1"), HasSubstr(ids + "'-1'"));
  EXPECT_THAT(error_of("1\n1.5"), HasSubstr(ids + "'1.5'"));
  EXPECT_THAT(error_of("1\n1e3"), HasSubstr(ids + "'1e3'"));
  EXPECT_THAT(error_of("1\n2147483648"), HasSubstr(ids + "'2147483648'"));
  EXPECT_THAT(error_of("1\n99999999999999999999"), HasSubstr(ids));
  EXPECT_THAT(error_of("1\nthe cat sat on the mat here"), HasSubstr(ids + "'the cat sat on the m'"));
  EXPECT_THAT(error_of("1\n[[1, 2]]"), HasSubstr(ids + "'[1, 2]'"));
  EXPECT_THAT(error_of("1\n[1, 2"), HasSubstr("line 2: need a ']' at the end, got '[1, 2'"));
  EXPECT_THAT(error_of(std::string("1\n\x93NUMPY\x01\0", 10)), HasSubstr(ids + "'?NUMPY"));
  EXPECT_THROW(read_token_ids("no such file"), MissingTensorFile);
}

using ::testing::StartsWith;

// Which models run on tokens, and what is wrong with ids and with other models.

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
  EXPECT_THAT(outcome_on({"gpt_neox"}), HasSubstr(" run on tokens, got gpt_neox"));
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

// A model run on tokens is held to its certificates as its recorded passes are, and to bounds that it breaks.

CheckpointReport report_of(const std::string& folder) {
  CheckpointQuestion question;
  const TokenFile tokens(nlohmann::json(recorded_ids(folder)[0]).dump() + "\n" +
                         nlohmann::json(recorded_ids(folder)[1]).dump());
  question.path = checkpoint_folder(folder).string();
  question.tokens = tokens.path().string();
  question.attention = attention_kernel();
  question.threads = 2;
  return certify_checkpoint(question);
}

CheckpointReport recorded_report(const std::string& folder) {
  CheckpointQuestion question;
  question.path = checkpoint_folder(folder).string();
  const proptests::TensorFolder files;
  question.activations = write_activations(files, {"observed_f64.safetensors", folder});
  return certify_checkpoint(question);
}

TEST(ObserveTokens, SeesWhatRecordedPassesHave) {
  for (const char* folder : {"bert", "distilbert", "gpt2", "roberta", "xlm-roberta"}) {
    const CheckpointReport run = report_of(folder), recorded = recorded_report(folder);
    EXPECT_EQ(numerics::worst(run.certificates), numerics::Verdict::proved);
    ASSERT_EQ(run.certificates.size(), recorded.certificates.size());
    ASSERT_EQ(run.observed.size(), recorded.observed.size());
    for (std::size_t i = 0; i < run.observed.size(); ++i) EXPECT_EQ(run.observed[i].rows, recorded.observed[i].rows);
  }
}

TEST(ObserveTokens, ABoundThatIsTooSmallIsViolated) {
  const auto checkpoint = open_checkpoint(checkpoint_folder("bert"));
  const ModelDescription model = describe(*checkpoint);
  const CheckpointReport report = report_of("bert");
  const ForwardPass pass(*checkpoint, model, recorded_ids("bert"), attention_kernel());
  std::vector<HeadCertificate> certificates = report.heads;
  certificates[5].spread.upper = report.observed[5].spread.lower * (1 - 0x1p-40);
  const Observation observation = observe_tokens(pass, certificates, {.file = "tokens"});
  const auto violated = [](const numerics::Certificate& c) { return c.verdict == numerics::Verdict::violated; };
  EXPECT_EQ(std::ranges::count_if(observation.certificates, violated), 1);
  const auto found = std::ranges::find_if(observation.certificates, violated);
  ASSERT_NE(found, observation.certificates.end());
  EXPECT_EQ(found->claim, "model.observed.spread");
  EXPECT_EQ(found->witness, "tokens: head 1.1");
}

// Entropies in doubles of one row of at most 19 scores, by two ways. A score is head_dim products, sums and a scale:
// off by (head_dim + 2) u scale |q| |k|; entropy moves by sum p |ln p + H| <= 2 H <= 2 ln 19 of that. Its own two sums
// have 19 terms, a logarithm and a quotient each: 32 roundings of ln S and of T / S, both at most ln 19. Both ways have
// all that.
double room_of(const LayerAttention& layer, Eigen::Index width, double scale) {
  double query = 0, key = 0;
  for (Eigen::Index token = 0; token < layer.query.cols(); ++token) {
    for (Eigen::Index row = 0; row < layer.query.rows(); row += width) {
      query = std::max(query, layer.query.col(token).segment(row, width).norm());
      key = std::max(key, layer.key.col(token).segment(row, width).norm());
    }
  }
  const double score = (static_cast<double>(width) + 2) * scale * query * key;
  return 2 * 0x1p-53 * 1.001 * std::log(19.0) * (2 * score + 64);
}

TEST(ObserveTokens, EntropiesOfTheKernelAreThoseOfTheRows) {
  for (const char* folder : {"bert", "gpt2"}) {
    const auto checkpoint = open_checkpoint(checkpoint_folder(folder));
    const ModelDescription model = describe(*checkpoint);
    const CheckpointReport report = report_of(folder);
    const ForwardPass pass(*checkpoint, model, recorded_ids(folder), attention_kernel());
    pass.run(model.layers - 1, [&](const LayerAttention& layer) {
      for (const ObservedHead& observed : report.observed) {
        const HeadDescription& head = report.heads[observed.place].head;
        if (head.layer != layer.layer) continue;
        double least = INFINITY, largest = 0;
        for (const TokenRange& input : pass.inputs()) {
          // The first query of a causal head sees one key, and does not count.
          for (Eigen::Index i = head.causal ? 1 : 0; i < input.count; ++i) {
            least = std::min(least, layer.entropy(input.first + i, head.head));
            largest = std::max(largest, layer.largest_coefficient(input.first + i, head.head));
          }
        }
        const double room = room_of(layer, model.head_dim, head.scale.upper_double());
        EXPECT_NEAR(least, observed.least_entropy, room) << folder << " " << head.layer << "." << head.head;
        // d ln p is at most twice what scores move by, and p at most 1.
        EXPECT_NEAR(largest, observed.largest_coefficient, room) << folder << " " << head.layer << "." << head.head;
      }
      return true;
    });
  }
}

// One item has the coefficient 1 and no spread: nothing would be said of such an input.
TEST(ObserveTokens, NeedsTwoIdsOfEachInput) {
  const proptests::TensorFolder folder;
  CheckpointQuestion question;
  question.path = checkpoint_folder("bert").string();
  question.tokens = folder.write("ids", "3 4\n\n5\n");
  question.attention = attention_kernel();
  try {
    certify_checkpoint(question);
    FAIL() << "an input of one id";
  } catch (const TensorFileError& error) {
    EXPECT_THAT(error.what(), StartsWith("tokens: input 2: need two ids or more, got 1"));
  }
}

TEST(ObserveTokens, LooksAtTheLayersThatWereAskedFor) {
  CheckpointQuestion question;
  question.path = checkpoint_folder("bert").string();
  const TokenFile tokens("[3, 4, 5]\n[6, 7]");
  question.tokens = tokens.path().string();
  question.attention = attention_kernel();
  question.layers = "1";
  std::vector<std::int64_t> layers;
  question.run_progress = [&](std::int64_t layer) { layers.push_back(layer); };
  const CheckpointReport report = certify_checkpoint(question);
  ASSERT_EQ(report.observed.size(), 4U);
  for (const ObservedHead& observed : report.observed) EXPECT_EQ(report.heads[observed.place].head.layer, 1);
  EXPECT_EQ(layers, (std::vector<std::int64_t>{0, 1}));
  EXPECT_FALSE(report.stopped);
}

}  // namespace
}  // namespace softcheck::models
