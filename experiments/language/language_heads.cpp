#include "experiments/language/language_heads.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <stdexcept>
#include <tuple>

#include "experiments/language/algorithms/problem.hpp"
#include "models/architectures/architectures.hpp"
#include "models/bounds/certify_checkpoint.hpp"
#include "theory/adaptive_temperature.hpp"
#include "theory/entropy_bounds.hpp"

namespace softcheck::experiments {
namespace {

constexpr std::int64_t fewest_seen = 16;

// The largest beta, rounded up.
const double most_beta = std::stod(theory::largest_beta);

double floor_of_spread(std::int64_t items, double spread) {
  return std::max(0.0, theory::entropy_floor(static_cast<std::uint64_t>(items), {spread, 0}).lower_double());
}

// A query of a head with the keys up to its own, and its scores.
HeadRow row_of(const LanguageShape& shape, const float* projected, std::int64_t query, int head) {
  const std::int64_t d = shape.width, dim = shape.head_width();
  HeadRow row;
  row.head = head;
  const float* const q = projected + 3 * d * query + head * dim;
  row.query.assign(q, q + dim);
  for (std::int64_t j = 0; j <= query; ++j) {
    const float* const k = projected + 3 * d * j + d + head * dim;
    row.keys.insert(row.keys.end(), k, k + dim);
    double score = 0;
    for (std::int64_t c = 0; c < dim; ++c) score += static_cast<double>(q[c]) * static_cast<double>(k[c]);
    row.scores.push_back(score / std::sqrt(static_cast<double>(dim)));
  }
  return row;
}

}  // namespace

double HeadRow::spread() const {
  const auto [least, largest] = std::ranges::minmax(scores);
  return largest - least;
}

double beta_of(const HeadRow& row, bool adaptive) {
  if (!adaptive) return 1;
  const double largest = std::ranges::max(row.scores);
  double sum = 0, weighted = 0;
  for (const double score : row.scores) {
    const double weight = std::exp(score - largest);
    sum += weight;
    weighted += weight * (score - largest);
  }
  return theory::inverse_temperature<double>(std::log(sum) - weighted / sum);
}

void observe_rows(const LanguageModel& model, bool adaptive, const LanguageKernels& kernels, const std::string& text,
                  std::span<const std::int64_t> items, const std::function<void(const HeadRow&)>& row) {
  if (model.design.weights != HeadWeights::softmax) {
    throw std::invalid_argument("observe_rows: need a model with plain softmax, got " +
                                to_string(model.design.weights));
  }
  LanguageDesign design = model.design;
  design.adaptive = adaptive;
  TokenBatch batch;
  add_text(batch, text + "\n", text.size());  // the last character is predicted and seen by no query
  if (design.positions == Positions::none) batch.positions.clear();
  LanguageParts<float> parts(kernels, design, batch);
  const TurnTable<float> turns(design.shape);
  const std::int64_t tokens = batch.tokens();
  parts.seen = [&](const LayerSeen& layer) {
    for (int head = 0; head < design.shape.heads; ++head) {
      for (const std::int64_t count : items) {
        if (count > tokens) continue;
        const std::int64_t query = count - 1, place = head * tokens + query;
        HeadRow one = row_of(design.shape, layer.projected, query, head);
        one.layer = layer.layer;
        one.log_sum = layer.log_sum[place];
        one.entropy = layer.entropy[place];
        one.largest_score = layer.largest[place];
        row(one);
      }
    }
  };
  Floats logits(static_cast<std::size_t>(batch.targets()) * character_count);
  language_lane().forward(design.shape, model.parameters.data(), lane_batch(batch, turns), parts.calls(),
                          logits.data());
}

std::vector<std::string> long_texts(std::size_t length, int draws, std::uint64_t seed) {
  RandomWords words(seed);
  std::vector<std::string> texts;
  for (int draw = 0; draw < draws; ++draw) {
    for (const Algorithm& algorithm : algorithms()) {
      // The smallest size whose text is long enough; most algorithms have none.
      std::string text;
      for (const int size : {16, 32, 61}) {
        if (text.size() >= length) break;
        const Problem problem = draw_problem(algorithm, size, words);
        text = problem.question + problem.response;
      }
      if (text.size() >= length) texts.push_back(text.substr(0, length));
    }
  }
  return texts;
}

std::vector<LanguageHeadPoint> observe_heads(const LanguageModel& model, const LanguageKernels& kernels,
                                             const std::vector<std::string>& texts, std::int64_t largest,
                                             const std::vector<double>& spreads) {
  std::vector<std::int64_t> items;
  for (std::int64_t count = fewest_seen; count <= largest; count *= 2) items.push_back(count);
  std::map<std::tuple<int, int, std::int64_t>, LanguageHeadPoint> points;
  for (const std::string& text : texts) {
    observe_rows(model, model.design.adaptive, kernels, text, items, [&](const HeadRow& row) {
      const auto count = static_cast<std::int64_t>(row.scores.size());
      LanguageHeadPoint& point = points[{row.layer, row.head, count}];
      HeadEntropy& entropy = point.entropy;
      if (entropy.rows == 0) {
        point.certified_spread = spreads.at(static_cast<std::size_t>(row.layer * model.design.shape.heads + row.head));
        entropy = {
            .layer = row.layer,
            .head = row.head,
            .items = count,
            .seen = count,
            .least = row.entropy,
            .certified_floor = floor_of_spread(count, point.certified_spread * (model.design.adaptive ? most_beta : 1)),
            .first_token_sum = NAN};
      }
      ++entropy.rows;
      entropy.sum += row.entropy;
      entropy.least = std::min(entropy.least, row.entropy);
      entropy.largest = std::max(entropy.largest, row.entropy);
      const double beta = beta_of(row, model.design.adaptive);
      entropy.largest_coefficient =
          std::max(entropy.largest_coefficient, std::exp(beta * row.largest_score - row.log_sum));
      entropy.spread_sum += row.spread();
      point.mean_spread += (row.spread() - point.mean_spread) / static_cast<double>(entropy.rows);
      point.largest_spread = std::max(point.largest_spread, row.spread());
    });
  }
  std::vector<LanguageHeadPoint> result;
  for (const auto& [place, point] : points) result.push_back(point);
  return result;
}

Figure heads_figure(const std::string& name, const std::vector<LanguageHeadPoint>& points) {
  std::vector<HeadEntropy> entropies;
  std::string csv = "layer,head,items,rows,mean spread,largest spread,certified spread\n";
  for (const LanguageHeadPoint& point : points) {
    const HeadEntropy& at = point.entropy;
    entropies.push_back(at);
    csv += fmt::format("{},{},{},{},{:.9g},{:.9g},{:.9g}\n", at.layer, at.head, at.items, at.rows, point.mean_spread,
                       point.largest_spread, point.certified_spread);
  }
  Figure figure = entropy_of_heads(name, entropies);
  figure.tables.push_back({"figure_3_spreads", csv});
  return figure;
}

std::vector<double> certified_spreads(const std::filesystem::path& folder, unsigned threads) {
  const auto checkpoint = models::open_checkpoint(folder.string());
  const models::ModelDescription model = models::describe(*checkpoint);
  models::CheckpointJob job;
  for (const models::HeadDescription& head : model.head_list) job.heads.push_back(&head);
  job.threads = threads;
  std::vector<double> spreads;
  for (const auto& certificate : models::certify_heads(*checkpoint, model, job)) {
    spreads.push_back(certificate.value().spread.upper);
  }
  return spreads;
}

}  // namespace softcheck::experiments
