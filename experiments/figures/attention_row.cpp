#include "experiments/figures/attention_row.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>
#include <stdexcept>

#include "experiments/evaluation.hpp"

namespace softcheck::experiments {

void for_each_row(const Floats& parameters, const RowSource& source, int size, int count,
                  const std::function<void(const AttentionRow&)>& visit) {
  if (size < 1 || count < 1) {
    throw std::invalid_argument("for_each_row: need size >= 1 and count >= 1, got " + std::to_string(size) + " and " +
                                std::to_string(count));
  }
  std::seed_seq sequence{static_cast<std::uint32_t>(source.seed), static_cast<std::uint32_t>(source.seed >> 32),
                         static_cast<std::uint32_t>(source.stream), static_cast<std::uint32_t>(source.stream >> 32),
                         static_cast<std::uint32_t>(size)};
  RandomWords words(sequence);
  const auto n = static_cast<std::size_t>(size);
  Floats encoded(n * width);
  AttentionRow row{size, std::vector<float>(n), std::vector<float>(n), 0};
  for (int r = 0; r < count; ++r) {
    const RetrievalSets set = draw_sets(size, 1, words);
    encode(parameters, set.items, encoded);
    const FoldedQueries query = fold(parameters, set.queries);
    for (std::size_t i = 0; i < n; ++i) {
      row.priorities[i] = set.items[i * item_features];
      row.logits[i] = std::inner_product(query.vectors.begin(), query.vectors.end(), &encoded[i * width], 0.0F);
    }
    row.maximal = static_cast<std::size_t>(std::ranges::max_element(row.priorities) - row.priorities.begin());
    visit(row);
  }
}

std::vector<double> coefficients_of(std::span<const float> logits, double beta) {
  const double largest = beta * (beta < 0 ? std::ranges::min(logits) : std::ranges::max(logits));
  std::vector<double> result;
  double sum = 0;
  for (const float logit : logits) {
    result.push_back(std::exp(beta * logit - largest));
    sum += result.back();
  }
  for (double& coefficient : result) coefficient /= sum;
  return result;
}

double entropy_of(std::span<const double> coefficients) {
  double entropy = 0;
  for (const double p : coefficients) entropy -= p > 0 ? p * std::log(p) : 0;
  return entropy;
}

}  // namespace softcheck::experiments
