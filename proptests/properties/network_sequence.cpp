#include "proptests/properties/network_sequence.hpp"

#include <algorithm>
#include <cmath>
#include <optional>

#include "proptests/generators/drawing/draw.hpp"
#include "proptests/generators/matrices/blocks.hpp"
#include "proptests/properties/properties.hpp"
#include "theory/theorem_2_2.hpp"

namespace softcheck::proptests {
namespace {

constexpr double largest_exponent = 500;    // of e^(spread/theta)
constexpr std::uint64_t longest_tail = 24;  // each of these tokens attends separately to all earlier ones

}  // namespace

theory::SmallTransformer model_of(const SmallNetworkCase& network) {
  theory::SmallTransformerShape shape = shape_of(network);
  theory::SmallTransformer model = theory::small_transformer(shape);
  // The boxes, and so the bound, do not depend on theta.
  const double spread = theory::bound_spreads(model).spread;
  while (!(spread / model.shape.theta <= largest_exponent)) model.shape.theta *= 2;
  return model;
}

std::vector<theory::Run> runs_of(const SmallNetworkCase& network) {
  Draw draw(network.seed);
  const auto symbol = [&] { return static_cast<int>(draw.below(static_cast<std::uint64_t>(network.vocabulary))); };
  std::vector<theory::Run> tail;
  std::uint64_t left = network.length;
  std::uint64_t tail_left = network.mask == Mask::gpt ? longest_tail : network.length;
  for (std::uint64_t runs = draw.below(5); runs > 0 && left > 1 && tail_left > 0; --runs) {
    const std::uint64_t count = draw.log_uniform(1, std::min(left - 1, tail_left));
    tail.push_back({symbol(), static_cast<double>(count)});
    left -= count;
    tail_left -= count;
  }
  tail.insert(tail.begin(), {symbol(), static_cast<double>(left)});
  return tail;
}

SmallNetworkCase with_two_symbols(SmallNetworkCase network) {
  network.vocabulary = std::max(network.vocabulary, 2);
  return network;
}

std::pair<int, int> two_symbols_of(const SmallNetworkCase& network) {
  Draw draw(network.seed);
  const int a = draw.between(0, network.vocabulary - 1);
  const int b = (a + draw.between(1, network.vocabulary - 1)) % network.vocabulary;
  return {a, b};
}

namespace {

constexpr double most_spread = 500;
constexpr double long_input = 0x1p+12;  // the norm's epsilon is small compared to its square

// W diag(g); for LayerNorm each row minus its mean.
Eigen::MatrixXd folded(const theory::NormedHead& head, const Eigen::MatrixXd& weights) {
  Eigen::MatrixXd result = weights * head.gain.asDiagonal();
  if (head.norm == theory::Norm::layer_norm) result.colwise() -= result.rowwise().mean().eval();
  return result;
}

std::optional<NormedSequence> worst_of(const theory::NormedHead& head) {
  constexpr int steps = 32;
  const Eigen::MatrixXd query = folded(head, head.query), key = folded(head, head.key);
  const Eigen::VectorXd offset = head.query * head.shift + head.query_bias;
  const double radius = std::sqrt(static_cast<double>(head.gain.size()));
  Eigen::VectorXd z = query.row(0).transpose();
  for (int step = 0; step < steps; ++step) {
    const Eigen::VectorXd next = query.transpose() * (key * (key.transpose() * (query * z + offset)));
    if (!(next.norm() > 0)) break;
    z = next * (radius / next.norm());
  }
  const Eigen::VectorXd seen = key.transpose() * (query * z + offset);
  if (!(seen.norm() > 0)) return std::nullopt;
  NormedSequence result{head, long_input * shortened(z), Eigen::MatrixXd(2, seen.size())};
  result.items.row(0) = long_input * shortened(seen / seen.norm()).transpose();
  result.items.row(1) = -result.items.row(0);
  return result;
}

}  // namespace

std::vector<NormedSequence> normed_sequences(const NormedHeadCase& head_case) {
  theory::NormedHead head = normed_head(head_case);
  while (theory::normalised_spread(head) > most_spread) head.scale /= 2;
  const Eigen::MatrixXd items = to_eigen(head_case.inputs);
  std::vector<NormedSequence> result{{head, items.bottomRows(1).transpose(), items}};
  if (auto worst = worst_of(head)) result.push_back(std::move(*worst));
  return result;
}

}  // namespace softcheck::proptests
