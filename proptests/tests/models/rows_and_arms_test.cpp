// Rows of logits, weighings and predictions of a forward pass, and what experiments/figures makes of them.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <map>
#include <span>
#include <string>
#include <tuple>
#include <vector>

#include "experiments/figures/adaptive_language.hpp"
#include "experiments/figures/entropy_of_heads.hpp"
#include "experiments/figures/head_spreads.hpp"
#include "models/forward/forward_pass.hpp"
#include "models/forward/product.hpp"
#include "models/forward/row_statistics.hpp"
#include "models/read/file_errors.hpp"
#include "proptests/tests/models/forward_inputs.hpp"
#include "theory/adaptive_temperature.hpp"

namespace softcheck::models {
namespace {

using Eigen::Index;
using Eigen::MatrixXd;

// Longer than mistral's window of 5.
const TokenIds two_inputs = {{7, 3, 9}, {3, 9, 14, 22, 5, 38, 17, 4, 11, 30, 8, 26}};

struct Opened {
  std::unique_ptr<Checkpoint> checkpoint;
  ModelDescription model;
};
Opened opened(const std::string& name) {
  const std::filesystem::path folder = checkpoint_folder(name);
  Opened result{open_checkpoint(name.starts_with("gguf-") ? folder / "model.gguf" : folder), {}};
  result.model = describe(*result.checkpoint);
  return result;
}

softcheck_kernel adaptive_kernel() {
  void* const library = dlopen(SOFTCHECK_KERNEL_DIR "/libsoftcheck_cpu_kernels.so", RTLD_NOW | RTLD_LOCAL);
  return reinterpret_cast<softcheck_kernel>(dlsym(library, "softcheck_adaptive_attention"));
}

struct TextFile {
  explicit TextFile(const std::string& text)
      : path(std::filesystem::temp_directory_path() / fmt::format("softcheck_rows_{}.txt", getpid())) {
    std::ofstream(path) << text;
  }
  ~TextFile() { std::filesystem::remove(path); }
  std::filesystem::path path;
};

TEST(Product, IsThatOfItsDefinition) {
  for (const auto& [outputs, inputs, columns] : {std::tuple{1, 1, 1}, {16, 9, 8}, {37, 20, 19}, {5, 64, 7}}) {
    MatrixXd weights(outputs, inputs), x(inputs, columns);
    for (Index i = 0; i < weights.size(); ++i) weights.data()[i] = std::sin(1.0 + static_cast<double>(i));
    for (Index i = 0; i < x.size(); ++i) x.data()[i] = std::cos(3.0 * static_cast<double>(i));
    MatrixXd plain(outputs, columns), transposed = plain;
    multiply(weights, false, x, plain);
    multiply(weights.transpose(), true, x, transposed);
    for (Index i = 0; i < outputs; ++i) {
      for (Index j = 0; j < columns; ++j) {
        long double sum = 0, size = 0;
        for (Index k = 0; k < inputs; ++k) {
          const long double term = static_cast<long double>(weights(i, k)) * x(k, j);
          sum += term;
          size += std::abs(term);
        }
        // A product and a sum for each input, at most.
        const double bound = static_cast<double>(2 * inputs * size) * 0x1p-53;
        EXPECT_LE(std::abs(static_cast<double>(plain(i, j) - sum)), bound);
        EXPECT_LE(std::abs(static_cast<double>(transposed(i, j) - sum)), bound);
      }
    }
  }
}

// The logits of one query by the definition, with the window of the description.
std::vector<long double> logits_of(const LayerAttention& layer, const HeadDescription& head, Index first, Index query) {
  const Index width = head.query.outputs.count;
  const Index begin = head.window ? std::max<Index>(0, query + 1 - static_cast<Index>(*head.window)) : 0;
  std::vector<long double> logits;
  for (Index key = begin; key <= query; ++key) {
    long double sum = 0;
    for (Index c = 0; c < width; ++c) {
      sum += static_cast<long double>(layer.query(head.head * width + c, first + query)) *
             layer.key(head.key_head * width + c, first + key);
    }
    sum *= head.scale.midpoint();
    logits.push_back(head.softcap ? *head.softcap * std::tanh(sum / *head.softcap) : sum);
  }
  return logits;
}

struct Moments {
  long double entropy = 0, others = 0, first = 0;
};
Moments moments_of(const std::vector<long double>& logits, long double beta = 1) {
  const long double top = *std::ranges::max_element(logits);
  long double sum = 0, moment = 0;
  for (const long double e : logits) {
    sum += std::exp(beta * (e - top));
    moment += std::exp(beta * (e - top)) * beta * (e - top);
  }
  return {std::log(sum) - moment / sum, sum - 1, std::exp(beta * (logits[0] - top)) / sum};
}

// Entropies are at most ln 12 and spreads of these models at most 64: a few hundred roundings of such numbers.
constexpr double room = 0x1p-40;

TEST(RowStatistics, AreThoseOfTheDefinition) {
  for (const char* name : {"gemma2", "mistral", "gguf-llama"}) {
    const Opened file = opened(name);
    const ForwardPass pass(*file.checkpoint, file.model, two_inputs, attention_kernel());
    std::size_t rows = 0;
    pass.run(file.model.layers - 1, [&](const LayerAttention& layer) {
      for (std::int64_t h = 0; h < file.model.heads; ++h) {
        const HeadDescription& head =
            file.model.head_list[static_cast<std::size_t>(layer.layer * file.model.heads + h)];
        const TokenRange input = pass.inputs()[1];
        Index query = 2;
        each_row(layer, head, input, 2, input.count - 2, [&](const RowStatistics& row, std::span<const double> logits) {
          const std::vector<long double> expected = logits_of(layer, head, input.first, query);
          ASSERT_EQ(logits.size(), expected.size());
          const auto [least, most] = std::ranges::minmax(expected);
          EXPECT_NEAR(row.spread(), static_cast<double>(most - least), room);
          EXPECT_NEAR(row.largest, static_cast<double>(most), room);
          const Moments moments = moments_of(expected);
          EXPECT_NEAR(row.entropy, static_cast<double>(moments.entropy), room);
          EXPECT_NEAR(row.others, static_cast<double>(moments.others), room);
          const bool sees_first = static_cast<Index>(expected.size()) == query + 1;
          EXPECT_NEAR(row.first_coefficient, sees_first ? static_cast<double>(moments.first) : 0.0, room);
          EXPECT_NEAR(row.entropy, layer.entropy(input.first + query, h), room);
          for (const long double sink : {-7.0L, 0.25L, 30.0L}) {
            std::vector<long double> whole = expected;
            whole.push_back(sink);
            const RowStatistics with = with_sink(row, static_cast<double>(sink));
            const auto [lowest, highest] = std::ranges::minmax(whole);
            const Moments all = moments_of(whole);
            EXPECT_EQ(with.items, row.items + 1);
            EXPECT_NEAR(with.spread(), static_cast<double>(highest - lowest), room);
            EXPECT_NEAR(with.entropy, static_cast<double>(all.entropy), room);
            EXPECT_NEAR(with.others, static_cast<double>(all.others), room);
            EXPECT_NEAR(with.first_coefficient, sees_first ? static_cast<double>(all.first) : 0.0, room);
          }
          ++query;
          ++rows;
        });
      }
      return true;
    });
    EXPECT_EQ(rows, file.model.head_list.size() * 10);
  }
}

TEST(Weighing, ScoresAreThoseOfItsTemperature) {
  for (const char* name : {"mistral", "gguf-llama"}) {
    const Opened file = opened(name);
    for (const bool adaptive : {false, true}) {
      const Weighing weighing = adaptive ? Weighing{.kernel = adaptive_kernel(), .adaptive = true}
                                         : Weighing{.kernel = attention_kernel(), .factor = [](std::int64_t keys) {
                                                      return 1 + 0.25 * static_cast<double>(keys);
                                                    }};
      const ForwardPass pass(*file.checkpoint, file.model, two_inputs,
                             std::vector<Weighing>(static_cast<std::size_t>(file.model.layers), weighing));
      double most = 1;
      pass.run(file.model.layers - 1, [&](const LayerAttention& layer) {
        for (std::int64_t h = 0; h < file.model.heads; ++h) {
          const HeadDescription& head =
              file.model.head_list[static_cast<std::size_t>(layer.layer * file.model.heads + h)];
          for (const TokenRange& input : pass.inputs()) {
            for (Index query = 0; query < input.count; ++query) {
              const std::vector<long double> logits = logits_of(layer, head, input.first, query);
              const double beta = adaptive
                                      ? theory::inverse_temperature(static_cast<double>(moments_of(logits).entropy))
                                      : 1 + 0.25 * static_cast<double>(logits.size());
              most = std::max(most, beta);
              EXPECT_NEAR(layer.entropy(input.first + query, h), static_cast<double>(moments_of(logits, beta).entropy),
                          room);
            }
          }
        }
        return true;
      });
      EXPECT_GT(most, 1.2) << "no row was changed";
    }
  }
}

TEST(Predicted, TokensAreThoseOfTheLogits) {
  const Opened file = opened("gguf-llama");
  const ForwardPass pass(*file.checkpoint, file.model, two_inputs, attention_kernel());
  const std::vector<Index> columns = {1, 4, 14};
  const std::vector<PredictedToken> seen = pass.predicted(columns);
  const TokenIds before = {{7}, {3}, {3, 9, 14, 22, 5, 38, 17, 4, 11, 30, 8}};
  const std::vector<Index> next = {3, 9, 26};
  const MatrixXd logits = ForwardPass(*file.checkpoint, file.model, before, attention_kernel()).logits();
  ASSERT_EQ(seen.size(), columns.size());
  for (Index i = 0; i < 3; ++i) {
    const double top = logits.col(i).maxCoeff();
    const double own = logits(next[static_cast<std::size_t>(i)], i);
    const double expected = own - top - std::log((logits.col(i).array() - top).exp().sum());
    EXPECT_NEAR(seen[static_cast<std::size_t>(i)].log_probability, expected, room);
    EXPECT_EQ(seen[static_cast<std::size_t>(i)].most_probable, own == top);
  }
  EXPECT_THROW(pass.predicted({3}), std::invalid_argument);  // the first token of the second input
}

TEST(HeadSpreads, AreThoseOfTheRowsAndEveryRowIsDecided) {
  const TextFile ids("7 3 9\n3 9 14 22 5 38 17 4 11 30 8 26\n");
  const Opened file = opened("mistral");
  const experiments::HeadSpreads spreads = experiments::spreads_of_heads(
      {.model = checkpoint_folder("mistral").string(), .tokens = ids.path.string(), .kernel = attention_kernel()});
  ASSERT_EQ(spreads.heads.size(), file.model.head_list.size());
  EXPECT_EQ(spreads.decided, spreads.heads.size() * 13);  // 2 and 11 rows of two keys or more
  for (const numerics::Certificate& c : spreads.certificates) {
    EXPECT_EQ(c.verdict, numerics::Verdict::proved) << c.claim;
  }
  const ForwardPass pass(*file.checkpoint, file.model, two_inputs, attention_kernel());
  pass.run(file.model.layers - 1, [&](const LayerAttention& layer) {
    for (std::int64_t h = 0; h < file.model.heads; ++h) {
      const auto place = static_cast<std::size_t>(layer.layer * file.model.heads + h);
      const experiments::HeadSpread& head = spreads.heads[place];
      long double largest = 0, sum = 0, last = 0, first_token = 0;
      for (const TokenRange& input : pass.inputs()) {
        for (Index query = 1; query < input.count; ++query) {
          const auto logits = logits_of(layer, file.model.head_list[place], input.first, query);
          const auto [least, most] = std::ranges::minmax(logits);
          last = most - least;
          largest = std::max(largest, last);
          sum += last;
          if (static_cast<Index>(logits.size()) == query + 1) first_token += moments_of(logits).first;
        }
      }
      EXPECT_EQ(head.rows, 13U);
      EXPECT_TRUE(head.has_window);
      EXPECT_NEAR(head.largest, static_cast<double>(largest), room);
      EXPECT_NEAR(head.sum, static_cast<double>(sum), 13 * room);
      EXPECT_NEAR(head.last, static_cast<double>(last), room);
      EXPECT_NEAR(head.first_token_sum, static_cast<double>(first_token), 13 * room);
      EXPECT_LE(head.sharp_upper, 1 + room);
      EXPECT_LE(head.sharp_lower, 1 + room);
      EXPECT_LE(head.upper, head.sharp_upper);
      EXPECT_LE(head.lower, head.sharp_lower);
    }
    return true;
  });
}

// The row of Lemma 2.1 has a sink's score as one more logit.
TEST(HeadSpreads, HaveTheSinkInTheRow) {
  const TextFile ids("7 3 9\n3 9 14 22 5 38 17 4 11 30 8 26\n");
  const Opened file = opened("gpt_oss");
  const experiments::HeadSpreads spreads = experiments::spreads_of_heads(
      {.model = checkpoint_folder("gpt_oss").string(), .tokens = ids.path.string(), .kernel = attention_kernel()});
  EXPECT_EQ(spreads.decided, spreads.heads.size() * 13);
  const ForwardPass pass(*file.checkpoint, file.model, two_inputs, attention_kernel());
  pass.run(file.model.layers - 1, [&](const LayerAttention& layer) {
    for (std::int64_t h = 0; h < file.model.heads; ++h) {
      const auto place = static_cast<std::size_t>(layer.layer * file.model.heads + h);
      const VectorPlace& place_of_sink = file.model.head_list[place].sink;
      const double sink =
          file.checkpoint->read(*file.checkpoint->find(place_of_sink.tensor), {0, 1}, place_of_sink.entries).values(0);
      long double largest = 0, entropy = 0, coefficient = 0;
      for (const TokenRange& input : pass.inputs()) {
        for (Index query = 1; query < input.count; ++query) {
          std::vector<long double> whole = logits_of(layer, file.model.head_list[place], input.first, query);
          const auto [least, most] = std::ranges::minmax(whole);
          largest = std::max(largest, most - least);
          whole.push_back(sink);
          entropy += moments_of(whole).entropy;
          long double sum = 0;
          for (const long double e : whole) sum += std::exp(e - most);
          coefficient += 1 / sum;
        }
      }
      const experiments::HeadSpread& head = spreads.heads[place];
      EXPECT_NEAR(head.largest, static_cast<double>(largest), room);
      EXPECT_NEAR(head.entropy_sum, static_cast<double>(entropy), 13 * room);
      EXPECT_NEAR(head.coefficient_sum, static_cast<double>(coefficient), 13 * room);
      EXPECT_LE(head.sharp_upper, 1 + room);
      EXPECT_LE(head.sharp_lower, 1 + room);
    }
    return true;
  });
}

TEST(EntropyOfHeads, WholeInputsHaveTheirLastQuery) {
  const TextFile ids("7 3 9\n3 9 14 22 5 38 17 4 11 30 8 26\n");
  const Opened file = opened("mistral");
  const std::vector<experiments::HeadEntropy> points =
      experiments::entropies_of_heads({.model = checkpoint_folder("mistral").string(),
                                       .tokens = ids.path.string(),
                                       .whole = true,
                                       .kernel = attention_kernel()});
  ASSERT_EQ(points.size(), 2 * file.model.head_list.size());
  const ForwardPass pass(*file.checkpoint, file.model, two_inputs, attention_kernel());
  pass.run(file.model.layers - 1, [&](const LayerAttention& layer) {
    for (const experiments::HeadEntropy& point : points) {
      if (point.layer != layer.layer) continue;
      const TokenRange input = pass.inputs()[point.items == 3 ? 0 : 1];
      const auto place = static_cast<std::size_t>(layer.layer * file.model.heads + point.head);
      const auto logits = logits_of(layer, file.model.head_list[place], input.first, input.count - 1);
      const auto [least, most] = std::ranges::minmax(logits);
      EXPECT_EQ(point.items, input.count);
      EXPECT_EQ(point.seen, std::min<std::int64_t>(5, input.count));
      EXPECT_EQ(point.rows, 1U);
      EXPECT_EQ(point.sum, layer.entropy(input.first + input.count - 1, point.head));
      EXPECT_NEAR(point.spread_sum, static_cast<double>(most - least), room);
      EXPECT_NEAR(point.first_token_sum, input.count == 3 ? static_cast<double>(moments_of(logits).first) : 0.0, room);
    }
    return true;
  });
}

TEST(LanguageTasks, OtherLinesAreRefused) {
  const auto refusal = [](const std::string& text) -> std::string {
    const TextFile file(text);
    try {
      experiments::read_language_tasks(file.path);
    } catch (const TensorFileError& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_EQ(refusal("a\t8\tquestions\t1-3,4-5\t1 2 3 4 5\n"), "");
  for (const auto& [text, needed] : std::map<std::string, std::string>{
           {"\n", "need a line for each task"},
           {"a\t8\tquestions\t1-2\n", "line 1: need five columns"},
           {"a\t8\tpoem\t1-2\t1 2\n", "need text or questions, got 'poem'"},
           {"a\t8\ttext\t0-2\t1 2\n", "need answers BEGIN-END of the ids, the first from 1 on, got '0-2'"},
           {"a\t8\ttext\t1-3\t1 2\n", "got '1-3'"},
           {"a\t8\ttext\t1\t1 2\n", "got '1'"},
           {"a\t8\ttext\t\t1 2\n", "need an answer"},
           {"a\t8\ttext\t1-2\t1 x\n", "need numbers from 0 to 2^31 - 1, got 'x'"}}) {
    EXPECT_NE(refusal(text).find(needed), std::string::npos) << refusal(text);
  }
}

TEST(LanguageArms, AreScoredByWhatTheirPassPredicts) {
  const TextFile tasks(
      "q\t2\tquestions\t1-2,4-6\t3 9 14 22 5 38 17 4\nt\t8\ttext\t1-3,3-5\t3 9 14 22 5 38 17 4\n"
      "q\t2\tquestions\t7-8\t3 9 14 22 5 38 17 4\n");
  const Opened file = opened("gguf-llama");
  const auto scores = experiments::score_arms({.model = (checkpoint_folder("gguf-llama") / "model.gguf").string(),
                                               .tasks = tasks.path.string(),
                                               .plain = attention_kernel(),
                                               .adaptive = adaptive_kernel()});
  std::string arms;
  for (std::size_t i = 0; i < scores.size(); ++i)
    arms += (i < scores.size() / 2 ? "q" : "t") + (" " + scores[i].arm) + ",";
  // No layer has a window: none is the global one.
  EXPECT_EQ(arms,
            "q plain,q adaptive,q adaptive_late,q constant_late,q log_n,t plain,t adaptive,t adaptive_late,t "
            "constant_late,t log_n,");
  const ForwardPass pass(*file.checkpoint, file.model, {{3, 9, 14, 22, 5, 38, 17, 4}}, attention_kernel());
  const auto token = pass.predicted({1, 2, 3, 4, 5, 6, 7});
  const auto lp = [&](std::size_t i) { return token[i - 1].log_probability; };
  const experiments::ArmScore &questions = scores[0], &text = scores[5];
  EXPECT_EQ(questions.answers, 3U);
  ASSERT_EQ(questions.log_probability.size(), 2U);
  EXPECT_NEAR(questions.log_probability[0], (lp(1) + lp(4) + lp(5)) / 2, room);
  EXPECT_NEAR(questions.log_probability[1], lp(7), room);
  ASSERT_EQ(text.log_probability.size(), 2U);
  EXPECT_NEAR(text.log_probability[0], (lp(1) + lp(2)) / 2, room);
  EXPECT_NEAR(text.log_probability[1], (lp(3) + lp(4)) / 2, room);
  // 8 keys are below 64: log_n is plain there; the temperature is not.
  EXPECT_EQ(scores[4].log_probability, questions.log_probability);
  EXPECT_NE(scores[1].log_probability, questions.log_probability);
  std::vector<Weighing> upper(static_cast<std::size_t>(file.model.layers), {.kernel = attention_kernel()});
  for (std::size_t layer = upper.size() / 2; layer < upper.size(); ++layer) {
    upper[layer] = {.kernel = adaptive_kernel(), .adaptive = true};
  }
  const ForwardPass late(*file.checkpoint, file.model, {{3, 9, 14, 22, 5, 38, 17, 4}}, upper);
  EXPECT_NEAR(scores[2].log_probability[1], late.predicted({7})[0].log_probability, room);
  EXPECT_NE(scores[2].log_probability, scores[1].log_probability);
  std::vector<std::string> names;
  for (const auto& arm : experiments::language_arms({true, false})) names.push_back(arm.name);
  EXPECT_EQ(fmt::format("{}", fmt::join(names, " ")),
            "plain adaptive adaptive_global adaptive_late constant_global constant_late log_n");
}

}  // namespace
}  // namespace softcheck::models
