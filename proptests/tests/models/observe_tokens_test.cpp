// A model run on tokens is held to its certificates as its recorded passes are, and to bounds that it breaks.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "models/report/checkpoint_run.hpp"
#include "models/report/head_observer.hpp"
#include "proptests/tests/models/forward_inputs.hpp"

namespace softcheck::models {
namespace {

CheckpointReport report_of(const std::string& folder) {
  CheckpointQuestion question;
  question.path = checkpoint_folder(folder).string();
  question.tokens = (checkpoint_folder(folder) / "tokens.jsonl").string();
  question.attention = attention_kernel();
  question.threads = 2;
  return certify_checkpoint(question);
}

CheckpointReport recorded_report(const std::string& folder) {
  CheckpointQuestion question;
  question.path = checkpoint_folder(folder).string();
  question.activations = (checkpoint_folder(folder) / "observed_f64.safetensors").string();
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
  const ForwardPass pass(*checkpoint, model, read_token_ids(checkpoint_folder("bert") / "tokens.jsonl"),
                         attention_kernel());
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
    const ForwardPass pass(*checkpoint, model, read_token_ids(checkpoint_folder(folder) / "tokens.jsonl"),
                           attention_kernel());
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

TEST(ObserveTokens, LooksAtTheLayersThatWereAskedFor) {
  CheckpointQuestion question;
  question.path = checkpoint_folder("bert").string();
  question.tokens = (checkpoint_folder("bert") / "tokens.jsonl").string();
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
