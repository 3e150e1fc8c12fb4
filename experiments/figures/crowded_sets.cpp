#include "experiments/figures/crowded_sets.hpp"

#include <algorithm>
#include <array>
#include <numeric>
#include <stdexcept>

#include "experiments/figures/attention_row.hpp"
#include "experiments/network_lane.hpp"

namespace softcheck::experiments {
namespace {

int class_with(const Floats& parameters, const Floats& encoded, std::span<const float> coefficients) {
  Floats pooled(width), scores(class_count);
  for (std::size_t i = 0; i < coefficients.size(); ++i) {
    for (std::size_t d = 0; d < width; ++d) pooled[d] += coefficients[i] * encoded[i * width + d];
  }
  network_lane().score_classes(parameters.data(), 1, pooled.data(), scores.data());
  return static_cast<int>(std::ranges::max_element(scores) - scores.begin());
}

}  // namespace

Head head_of(std::string name, std::function<double(double)> inverse_temperature) {
  return {std::move(name),
          [beta = std::move(inverse_temperature)](std::span<const float> logits, float, std::span<float> coefficients) {
            const double entropy = entropy_of(coefficients_of(logits));
            std::ranges::transform(coefficients_of(logits, beta(entropy)), coefficients.begin(),
                                   [](double p) { return static_cast<float>(p); });
          }};
}

RetrievalSets draw_crowded_sets(int size, int count, RandomWords& words) {
  if (size < 2) throw std::invalid_argument("draw_crowded_sets: need size >= 2, got " + std::to_string(size));
  RetrievalSets sets = draw_sets(size, count, words);
  const auto n = static_cast<std::size_t>(size);
  for (std::size_t i = 0; i < sets.items.size() / item_features; ++i) {
    float& priority = sets.items[i * item_features];
    priority = i % n == 0 ? above_crowd : crowd_from + (crowd_to - crowd_from) * priority;
  }
  for (std::size_t s = 0; s < sets.targets.size(); ++s) {
    const float* const labels = &sets.items[s * n * item_features + 1];
    sets.targets[s] = static_cast<int>(std::find(labels, labels + class_count, 1.0F) - labels);
  }
  return sets;
}

std::vector<CrowdedMeasure> measure_crowded(const Floats& parameters, std::uint64_t stream, int size, int count,
                                            const std::vector<Head>& heads) {
  std::seed_seq sequence{static_cast<std::uint32_t>(stream), static_cast<std::uint32_t>(size)};
  RandomWords words(sequence);
  const auto n = static_cast<std::size_t>(size);
  Floats encoded(n * width);
  std::vector<float> logits(n), coefficients(n);
  std::vector<CrowdedMeasure> measures;
  for (int s = 0; s < count; ++s) {
    const RetrievalSets set = draw_crowded_sets(size, 1, words);
    encode(parameters, set.items, encoded);
    const FoldedQueries query = fold(parameters, set.queries);
    for (std::size_t i = 0; i < n; ++i) {
      logits[i] = std::inner_product(query.vectors.begin(), query.vectors.end(), &encoded[i * width], 0.0F);
    }
    measures.push_back({logits[0] == std::ranges::max(logits), entropy_of(coefficients_of(logits)), {}});
    for (const Head& head : heads) {
      head.coefficients(logits, query.offsets[0], coefficients);
      measures.back().heads.push_back(
          {class_with(parameters, encoded, coefficients) == set.targets[0], coefficients[0]});
    }
  }
  return measures;
}

}  // namespace softcheck::experiments
