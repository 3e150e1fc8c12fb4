// Forward passes of transformers lie within the certificates of their checkpoints.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <vector>

#include "models/bounds/certify_checkpoint.hpp"

namespace softcheck::proptests {
namespace {

using models::HeadCertificate;
using models::HeadDescription;
using models::ProjectionValues;

// The tensors of an observed.safetensors: all of them F32 of three dimensions, but for a layer's input.
class Observed {
 public:
  explicit Observed(const std::filesystem::path& file) {
    std::ifstream stream(file, std::ios::binary);
    std::uint64_t length = 0;
    stream.read(reinterpret_cast<char*>(&length), 8);
    std::string text(length, ' ');
    stream.read(text.data(), static_cast<std::streamsize>(length));
    header_ = nlohmann::json::parse(text);
    bytes_.assign(std::istreambuf_iterator<char>(stream), {});
  }
  struct Tensor {
    std::vector<std::size_t> shape;
    std::vector<float> values;
    double at(std::size_t i, std::size_t j, std::size_t k) const {
      return values.at((i * shape[1] + j) * shape[2] + k);
    }
  };
  bool has(const std::string& name) const { return header_.contains(name); }
  Tensor tensor(const std::string& name) const {
    const auto& entry = header_.at(name);
    Tensor result{entry.at("shape"), {}};
    const std::size_t begin = entry.at("data_offsets")[0], end = entry.at("data_offsets")[1];
    result.values.resize((end - begin) / 4);
    std::copy_n(bytes_.data() + begin, end - begin, reinterpret_cast<char*>(result.values.data()));
    return result;
  }

 private:
  nlohmann::json header_;
  std::vector<char> bytes_;
};

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
  Opened result{models::open_checkpoint(folder), {}};
  result.model = models::describe(*result.checkpoint);
  return result;
}
std::vector<std::filesystem::path> folders() {
  std::vector<std::filesystem::path> result;
  for (const auto& entry : std::filesystem::directory_iterator(std::filesystem::path(SOFTCHECK_SOURCE_DIR) /
                                                               "proptests/tests/models/checkpoints")) {
    result.push_back(entry.path());
  }
  std::ranges::sort(result);
  return result;
}

// The row of scores of one query, those that the mask leaves.
std::vector<double> visible(const Observed::Tensor& scores, std::size_t head, std::size_t query) {
  std::vector<double> row;
  for (std::size_t j = 0; j < scores.shape[2]; ++j) {
    if (scores.at(head, query, j) > -1e30) row.push_back(scores.at(head, query, j));
  }
  return row;
}

void expect_inside(const HeadDescription& head, const Opened& opened, models::HeadReader& reader,
                   const Observed& observed, int input) {
  const auto name = [&](const char* what) { return fmt::format("input.{}.layers.{}.{}", input, head.layer, what); };
  const Observed::Tensor q = observed.tensor(name("query")), k = observed.tensor(name("key"));
  const Observed::Tensor scores = observed.tensor(name("scores"));
  const std::size_t n = q.shape[0], dh = q.shape[2];
  const auto h = static_cast<std::size_t>(head.head), kv = static_cast<std::size_t>(head.key_head);
  const HeadCertificate certificate = models::certify_head(head, opened.model, reader, {});
  const double scale = head.scale.upper_double();
  const double score_room =
      certificate.scale.upper_double() / scale *
      room_of(reader.query(head), reader.key(head), static_cast<double>(opened.model.hidden), static_cast<double>(dh));
  const double cap = head.softcap.value_or(0);
  // f32 evaluates the cap to a few ulp of it.
  const double logit_room = scale * score_room + 8 * cap * 0x1p-24;
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = 0; j < n; ++j) {
      double dot = 0;
      for (std::size_t c = 0; c < dh; ++c) dot += q.at(i, h, c) * k.at(j, kv, c);
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

TEST(BoundsObserved, ForwardPassesLieWithinTheCertificates) {
  ASSERT_GE(folders().size(), 18U);
  for (const std::filesystem::path& folder : folders()) {
    const Opened model = opened(folder);
    const Observed observed(folder / "observed.safetensors");
    models::HeadReader reader(*model.checkpoint);
    for (const HeadDescription& head : model.model.head_list) {
      SCOPED_TRACE(fmt::format("{} {}.{}", folder.filename().string(), head.layer, head.head));
      for (int input = 0; observed.has(fmt::format("input.{}.layers.0.query", input)); ++input) {
        expect_inside(head, model, reader, observed, input);
      }
      if (testing::Test::HasFailure()) return;
    }
  }
}

TEST(BoundsObserved, LowerEndsAreBelowUpperOnesAndNearThem) {
  std::vector<double> rotary;
  for (const std::filesystem::path& folder : folders()) {
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
      if (!head.rotary) {
        EXPECT_GE(share, 0.999);
      } else if (head.key_bias.tensor.empty()) {
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
