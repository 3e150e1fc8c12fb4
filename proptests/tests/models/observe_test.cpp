// models::observe sees the rows that the forward pass itself saw: causal ones, windows, capped logits.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "experiments/figures/entropy_of_heads.hpp"
#include "models/bounds/certify_checkpoint.hpp"
#include "models/forward/forward_pass.hpp"
#include "models/report/checkpoint_run.hpp"
#include "proptests/tests/models/forward_inputs.hpp"
#include "proptests/tests/models/observed_heads.hpp"

namespace softcheck::proptests {
namespace {

using models::ObservedTensor;

struct Recorded {
  double spread = 0;          // the largest over rows of two items or more, by the forward pass's own scores
  double size = 0;            // the largest |q| |k|
  double entropy = INFINITY;  // the least, the sink's score among a row's
  std::size_t rows = 0;
};

double largest_norm(const ObservedTensor& vectors, std::int64_t head) {
  double largest = 0;
  for (std::int64_t i = 0; i < vectors.shape[0]; ++i) {
    double square = 0;
    for (std::int64_t c = 0; c < vectors.shape[2]; ++c) square += vectors.at(i, head, c) * vectors.at(i, head, c);
    largest = std::max(largest, std::sqrt(square));
  }
  return largest;
}

Recorded recorded(const std::filesystem::path& folder, const models::HeadDescription& head) {
  const auto tensors = models::read_observed(folder);
  Recorded result;
  for (int input = 0; tensors.contains(fmt::format("input.{}.layers.0.query", input)); ++input) {
    const auto at = [&](const char* what) -> const ObservedTensor& {
      return tensors.at(fmt::format("input.{}.layers.{}.{}", input, head.layer, what));
    };
    result.size = std::max(result.size, largest_norm(at("query"), head.head) * largest_norm(at("key"), head.key_head));
    const ObservedTensor& scores = at("scores");
    for (std::int64_t i = 0; i < scores.shape[1]; ++i) {
      std::vector<double> row;
      for (std::int64_t j = 0; j < scores.shape[2]; ++j) {
        if (scores.at(head.head, i, j) > -1e30) row.push_back(scores.at(head.head, i, j));  // masked ones lie far below
      }
      const bool sink = !head.sink.tensor.empty();
      if (row.size() < (sink ? 3 : 2)) continue;
      ++result.rows;
      double sum = 0, moment = 0;
      for (const double x : row) {
        sum += std::exp(x - row.front());
        moment += std::exp(x - row.front()) * (x - row.front());
      }
      result.entropy = std::min(result.entropy, std::log(sum) - moment / sum);
      if (sink) row.pop_back();
      const auto [low, high] = std::ranges::minmax(row);
      result.spread = std::max(result.spread, high - low);
    }
  }
  return result;
}

TEST(Observe, RowsAreThoseOfTheForwardPass) {
  for (const std::filesystem::path& folder : models::observed_folders()) {
    if (std::filesystem::exists(folder / "model.gguf")) continue;
    // Its window is the widest that images allow: rows of text see fewer keys than observe() takes.
    if (folder.filename() == "gemma3") continue;
    models::CheckpointQuestion question;
    question.path = folder.string();
    const TensorFolder files;
    question.activations = models::write_activations(files, {"observed.safetensors", folder.filename().string()});
    if (folder.filename() == "t5") {  // its logits are more than s q . k
      EXPECT_THROW(models::certify_checkpoint(question), models::UnsupportedTensorFile);
      continue;
    }
    const models::CheckpointReport report = models::certify_checkpoint(question);
    ASSERT_EQ(report.observed.size(), report.heads.size()) << folder;
    for (const models::ObservedHead& observed : report.observed) {
      const models::HeadDescription& head = report.heads[observed.place].head;
      SCOPED_TRACE(fmt::format("{} {}.{}", folder.filename().string(), head.layer, head.head));
      const Recorded seen = recorded(folder, head);
      EXPECT_EQ(observed.rows, seen.rows);
      // Both logits of a spread come from f32 sums of dh products, a scale and a cap of a few roundings.
      const double room =
          2 * (static_cast<double>(head.query.outputs.count) + 8) * 0x1p-24 * head.scale.upper_double() * seen.size;
      EXPECT_GE(observed.spread.upper, seen.spread - room);
      EXPECT_LE(observed.spread.lower, seen.spread + room);
      // A row's coefficients move by a share of at most e^(2 room) - 1, its entropy by that times 1 + ln n, n <= 20.
      EXPECT_NEAR(observed.least_entropy, seen.entropy, std::expm1(2 * room) * (1 + std::log(20.0)));
    }
  }
}

}  // namespace
}  // namespace softcheck::proptests

// Forward passes of transformers lie within the certificates of their checkpoints.

namespace softcheck::proptests {
namespace {

using models::HeadCertificate;
using models::HeadDescription;
using models::ObservedTensor;
using models::ProjectionValues;

// What rounding to f32 can add to q . k, where q and k come out of products of d numbers: each entry of q is off by at
// most gamma (|row of W| |x| + |b|), |x| <= the norm's X, so that q as a whole is by gamma (|W|_F X + |b|), and |W|_F
// <= sqrt(dh) sigma. gamma counts d + dh roundings of the products, 3 of the rotation and its table each, and at most
// 2 d of the norm's two means where the mean of a row is not far above its deviation; half of 4 d + 64 roundings each
// for q and k, twice what is counted.
double room_of(const ProjectionValues& query, const ProjectionValues& key, double width, double head_dim) {
  const auto size = [](const ProjectionValues& values) {
    return (values.sigma * values.input_norm + values.bias_norm).upper_double();
  };
  const double gamma = (4 * width + 64) * 0x1p-24;
  return 2 * gamma * std::sqrt(head_dim) * size(query) * size(key);
}

struct Opened {
  std::unique_ptr<models::Checkpoint> checkpoint;
  models::ModelDescription model;
};
Opened opened(const std::filesystem::path& folder) {
  const bool gguf = std::filesystem::exists(folder / "model.gguf");
  Opened result{models::open_checkpoint(gguf ? folder / "model.gguf" : folder), {}};
  result.model = models::describe(*result.checkpoint);
  return result;
}
// The row of scores of one query, those that the mask leaves.
std::vector<double> visible(const ObservedTensor& scores, std::int64_t head, std::int64_t query) {
  std::vector<double> row;
  for (std::int64_t j = 0; j < scores.shape[2]; ++j) {
    if (scores.at(head, query, j) > -1e30) row.push_back(scores.at(head, query, j));
  }
  return row;
}

void expect_inside(const HeadDescription& head, const Opened& opened, models::HeadReader& reader,
                   const std::map<std::string, ObservedTensor>& observed, int input) {
  const auto name = [&](const char* what) { return fmt::format("input.{}.layers.{}.{}", input, head.layer, what); };
  const ObservedTensor &q = observed.at(name("query")), &k = observed.at(name("key"));
  const ObservedTensor& scores = observed.at(name("scores"));
  const std::int64_t n = q.shape[0], seen = k.shape[0], dh = q.shape[2];
  const auto h = static_cast<std::int64_t>(head.head), kv = static_cast<std::int64_t>(head.key_head);
  const HeadCertificate certificate = models::certify_head(head, opened.model, reader, {});
  const double scale = head.scale.upper_double();
  const double score_room =
      certificate.scale.upper_double() / scale *
      room_of(reader.query(head), head.turned_key ? reader.two_part_key(head, reader.query(head)) : reader.key(head),
              static_cast<double>(opened.model.part_of(head.layer).hidden), static_cast<double>(dh));
  const double cap = head.softcap.value_or(0);
  // f32 evaluates the cap to a few ulp of it.
  const double logit_room = scale * score_room + 8 * cap * 0x1p-24;
  for (std::int64_t i = 0; i < n; ++i) {
    for (std::int64_t j = 0; j < seen; ++j) {
      double dot = 0;
      for (std::int64_t c = 0; c < dh; ++c) dot += q.at(i, h, c) * k.at(j, kv, c);
      const double logit = cap > 0 ? cap * std::tanh(scale * dot / cap) : scale * dot;
      EXPECT_LE(std::fabs(dot), certificate.score.upper + score_room);
      EXPECT_LE(std::fabs(logit), certificate.logit.upper + logit_room);
    }
    std::vector<double> row = visible(scores, h, i);
    const double sink = certificate.sink ? row.back() : 0;
    double sum = 0, top = *std::ranges::max_element(row);
    for (const double x : row) sum += std::exp(x - top);
    double entropy = 0;
    for (const double x : row) entropy -= std::exp(x - top) / sum * (x - top - std::log(sum));
    if (certificate.sink) row.pop_back();
    const auto [low, high] = std::ranges::minmax(row);
    EXPECT_LE(high - low, certificate.spread.upper + 2 * logit_room);
    if (!certificate.sink) {
      EXPECT_LE(std::max(high, -low), certificate.logit.upper + logit_room);
    } else {
      // Rows with a sink are stored less their largest.
      EXPECT_LE(std::fabs(high - sink), certificate.logit.upper + std::fabs(*certificate.sink) + logit_room);
    }
    const auto items = static_cast<std::uint64_t>(row.size());
    const HeadCertificate of_row = models::certify_head(head, opened.model, reader, {.eps = 0.1, .items = items});
    ASSERT_EQ(of_row.items, items) << "more items are visible than the window has";
    // A coefficient moves by a share of at most e^(2 room) - 1; entropy by as much times ln n.
    EXPECT_LE(std::exp(high - top) / sum, of_row.largest_coefficient.upper * std::exp(2 * logit_room));
    EXPECT_GE(entropy, of_row.entropy_floor.lower - std::expm1(2 * logit_room) * (1 + std::log(double(items) + 1)));
  }
}

// Labelled full: BoundsObserved.ForwardPassesLieWithinTheCertificates
TEST(BoundsObserved, ForwardPassesLieWithinTheCertificates) {
  ASSERT_GE(models::observed_folders().size(), 18U);
  for (const std::filesystem::path& folder : models::observed_folders()) {
    const Opened model = opened(folder);
    const auto observed = models::read_observed(folder);
    models::HeadReader reader(*model.checkpoint);
    for (const HeadDescription& head : model.model.head_list) {
      SCOPED_TRACE(fmt::format("{} {}.{}", folder.filename().string(), head.layer, head.head));
      for (int input = 0; observed.contains(fmt::format("input.{}.layers.0.query", input)); ++input) {
        expect_inside(head, model, reader, observed, input);
      }
      if (testing::Test::HasFailure()) return;
    }
  }
}

TEST(BoundsObserved, LowerEndsAreBelowUpperOnesAndNearThem) {
  std::vector<double> rotary;
  for (const std::filesystem::path& folder : models::observed_folders()) {
    const Opened model = opened(folder);
    models::HeadReader reader(*model.checkpoint);
    for (const HeadDescription& head : model.model.head_list) {
      SCOPED_TRACE(fmt::format("{} {}.{}", folder.filename().string(), head.layer, head.head));
      const HeadCertificate c = models::certify_head(head, model.model, reader, {});
      for (const models::Supremum& ends : {c.spread, c.logit, c.score, c.dispersion_length_log10, c.entropy_floor,
                                           c.largest_coefficient, c.identity_length_log10}) {
        EXPECT_LE(ends.lower, ends.upper);
      }
      for (const auto& form : {c.joint, c.folded, c.product}) EXPECT_LE(c.spread.upper, form.upper_double());
      const double share = c.spread.lower / c.spread.upper;
      if (head.distance_bias) {
        EXPECT_GE(share, 0.8);  // of the table's numbers those of near keys
      } else if (!head.rotary) {
        EXPECT_GE(share, 0.999);
      } else if (head.key_bias.tensor.empty() && !head.turned_key) {
        rotary.push_back(share);
      }
    }
  }
  ASSERT_GE(rotary.size(), 40U);
  std::ranges::sort(rotary);
  EXPECT_GE(rotary[rotary.size() / 2], 0.55);
}

}  // namespace
}  // namespace softcheck::proptests

// Figure 3's numbers are those of the rows that see so many items.

namespace softcheck::experiments {
namespace {

using Eigen::Index;
using models::checkpoint_folder;

models::TokenIds two_inputs() {
  models::TokenIds inputs(2);
  for (std::int64_t i = 0; i < 20; ++i) inputs[0].push_back(3 + (7 * i) % 37);
  for (std::int64_t i = 0; i < 33; ++i) inputs[1].push_back(3 + (5 * i) % 37);
  return inputs;
}

std::vector<HeadEntropy> points_of(const std::string& folder) {
  const std::filesystem::path file =
      std::filesystem::path(::testing::TempDir()) / ("entropy_of_heads_" + std::to_string(::getpid()));
  {
    std::ofstream text(file);
    for (const std::vector<std::int64_t>& ids : two_inputs()) {
      for (const std::int64_t id : ids) text << id << ' ';
      text << '\n';
    }
  }
  const std::vector<HeadEntropy> points = entropies_of_heads(
      {.model = checkpoint_folder(folder).string(), .tokens = file.string(), .kernel = models::attention_kernel()});
  std::filesystem::remove(file);
  return points;
}

struct Seen {
  std::size_t rows = 0;
  double sum = 0, least = INFINITY, largest = 0;

  void add(double entropy) {
    ++rows;
    sum += entropy;
    least = std::min(least, entropy);
    largest = std::max(largest, entropy);
  }
};

/// inputs    of one pass; rows(input, row) says whether it sees the items in question
template <class Counts>
Seen seen_of(const std::string& folder, const models::TokenIds& inputs, const HeadEntropy& point, Counts counts) {
  const auto checkpoint = models::open_checkpoint(checkpoint_folder(folder));
  const models::ForwardPass pass(*checkpoint, models::describe(*checkpoint), inputs, models::attention_kernel());
  Seen seen;
  pass.run(point.layer, [&](const models::LayerAttention& layer) {
    if (layer.layer != point.layer) return true;
    for (std::size_t input = 0; input < inputs.size(); ++input) {
      const models::TokenRange range = pass.inputs()[input];
      for (Index i = 0; i < range.count; ++i) {
        if (counts(input, i)) seen.add(layer.entropy(range.first + i, point.head));
      }
    }
    return true;
  });
  return seen;
}

void expect_same(const HeadEntropy& point, const Seen& seen) {
  EXPECT_EQ(point.rows, seen.rows);
  EXPECT_EQ(point.least, seen.least);
  EXPECT_EQ(point.largest, seen.largest);
  // Two sums of the same rows, each of at most ln 32.
  const auto rows = static_cast<double>(seen.rows);
  EXPECT_NEAR(point.sum, seen.sum, 2 * rows * rows * 0x1p-53 * std::log(32.0));
  EXPECT_LE(point.certified_floor, point.least);
}

TEST(EntropyOfHeads, EveryQueryOfAnEncoderSeesAllItems) {
  const std::vector<HeadEntropy> points = points_of("bert");
  ASSERT_EQ(points.size(), 2U * 4U * 2U);
  const models::TokenIds ids = two_inputs();
  const auto prefix = [&](std::size_t input, std::int64_t items) {
    return std::vector<std::int64_t>(ids[input].begin(), ids[input].begin() + items);
  };
  // In the order of the figure's own pass: the same products, so the same bits.
  const models::TokenIds inputs = {prefix(0, 16), prefix(1, 16), prefix(1, 32)};
  for (const HeadEntropy& point : points) {
    expect_same(point, seen_of("bert", inputs, point, [&](std::size_t input, Index) {
                  return static_cast<std::int64_t>(inputs[input].size()) == point.items;
                }));
  }
}

TEST(EntropyOfHeads, OneQueryOfACausalInputSeesSoManyItems) {
  const std::vector<HeadEntropy> points = points_of("gpt2");
  ASSERT_EQ(points.size(), 2U * 4U * 2U);
  for (const HeadEntropy& point : points) {
    expect_same(point,
                seen_of("gpt2", two_inputs(), point, [&](std::size_t, Index i) { return i + 1 == point.items; }));
  }
}

}  // namespace
}  // namespace softcheck::experiments
