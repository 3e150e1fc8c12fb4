#include "proptests/properties/network_sequence.hpp"

#include <algorithm>

#include "proptests/generators/drawing/draw.hpp"
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

}  // namespace softcheck::proptests
