#include "proptests/generators/networks/network.hpp"

#include <rapidcheck.h>

#include <array>
#include <cmath>
#include <limits>
#include <ostream>
#include <stdexcept>

#include "numerics/enclosures/certificate.hpp"
#include "proptests/generators/drawing/draw.hpp"
#include "proptests/generators/drawing/lazy_shrinks.hpp"
#include "proptests/generators/text/case_text.hpp"
#include "theory/small_transformer.hpp"

namespace softcheck::proptests {
namespace {

constexpr std::array<std::string_view, 2> mask_names{"bert", "gpt"};
constexpr std::array<std::string_view, 3> activation_names{"relu", "tanh", "gelu"};
constexpr int most_symbols = 16;  // odd k in [-15, 15]: small_transformer's distinct one-dimensional embeddings

template <std::size_t N>
std::size_t index_of(const std::array<std::string_view, N>& names, std::string_view name) {
  for (std::size_t i = 0; i < N; ++i) {
    if (names[i] == name) return i;
  }
  throw std::invalid_argument("network case: unknown word \"" + std::string(name) + "\"");
}

void require_possible(const NetworkOptions& options) {
  const bool sizes = options.max_vocabulary >= 1 && options.max_vocabulary <= most_symbols && options.max_width >= 1 &&
                     options.max_heads >= 1 && options.max_depth >= 1 && options.max_length >= 1;
  if (!sizes || !(options.bert || options.gpt) || !(options.with_residual || options.without)) {
    throw std::invalid_argument(
        "network_cases: need sizes >= 1, at most 16 symbols, a mask and networks with or without residuals");
  }
}

SmallNetworkCase draw_network(const rc::Random& random, int size, const NetworkOptions& options) {
  Draw draw(random);
  const double share = std::min(size, rc::kNominalSize) / static_cast<double>(rc::kNominalSize);
  const auto up_to = [&](int lowest, int most) {
    return draw.between(std::min(lowest, most),
                        std::max(std::min(lowest, most), static_cast<int>(std::lround(most * share))));
  };
  SmallNetworkCase network;
  network.seed = draw.below(std::uint64_t{1} << 16);
  network.vocabulary = up_to(2, options.max_vocabulary);
  network.width = up_to(1, options.max_width);
  network.heads = up_to(1, options.max_heads);
  network.depth = up_to(1, options.max_depth);
  network.mask = options.bert && (!options.gpt || draw.one_in(2)) ? Mask::bert : Mask::gpt;
  network.residual = options.with_residual && (!options.without || draw.one_in(2));
  network.feedforward = options.feedforward && draw.one_in(2);
  network.activation = static_cast<Nonlinearity>(draw.below(activation_names.size()));
  network.theta = draw.one_in(2) ? 1 : std::ldexp(1.0, draw.between(-2, 3));
  network.weight_scale = draw.one_in(2) ? 1 : std::ldexp(1.0, draw.between(-3, 1));
  network.length = draw.log_uniform(1, options.max_length);
  return network;
}

/// Smaller integers to try, at least `least`: least, half the way, one less.
template <class Integer>
std::vector<Integer> smaller(Integer value, Integer least) {
  std::vector<Integer> result;
  if (value <= least) return result;
  result.push_back(least);
  for (Integer less = (value - least) / 2; less > 0; less /= 2) result.push_back(value - less);
  return result;
}

std::vector<SmallNetworkCase> simpler_networks(const SmallNetworkCase& from) {
  std::vector<SmallNetworkCase> result;
  const auto offer = [&](auto member, const auto& values) {
    for (const auto value : values) {
      result.push_back(from);
      result.back().*member = value;
    }
  };
  using Case = SmallNetworkCase;
  offer(&Case::depth, smaller(from.depth, 1));
  offer(&Case::heads, smaller(from.heads, 1));
  if (from.feedforward) offer(&Case::feedforward, std::array{false});
  if (from.activation != Nonlinearity::relu) offer(&Case::activation, std::array{Nonlinearity::relu});
  if (from.mask != Mask::bert) offer(&Case::mask, std::array{Mask::bert});
  if (!from.residual) offer(&Case::residual, std::array{true});
  offer(&Case::width, smaller(from.width, 1));
  offer(&Case::vocabulary, smaller(from.vocabulary, 1));
  offer(&Case::length, smaller(from.length, std::uint64_t{1}));
  if (from.theta != 1) offer(&Case::theta, std::array{1.0});
  if (from.weight_scale != 1) offer(&Case::weight_scale, std::array{1.0});
  offer(&Case::seed, smaller(from.seed, std::uint64_t{0}));
  return result;
}

double parse_positive(std::string_view word, std::string_view key) {
  const double value = parse_number(value_of(word, key));
  if (!(value > 0 && value < std::numeric_limits<double>::infinity())) {
    throw std::invalid_argument("network case: need a positive " + std::string(key) + ", got " + std::string(word));
  }
  return value;
}

}  // namespace

theory::SmallTransformerShape shape_of(const SmallNetworkCase& network) {
  static constexpr std::array activations{theory::Activation::relu, theory::Activation::tanh, theory::Activation::gelu};
  theory::SmallTransformerShape shape;
  shape.seed = network.seed;
  shape.vocabulary = network.vocabulary;
  shape.width = network.width;
  shape.heads = network.heads;
  shape.depth = network.depth;
  shape.mask = network.mask == Mask::bert ? theory::AttentionMask::bert : theory::AttentionMask::gpt;
  shape.residual = network.residual;
  shape.feedforward = network.feedforward;
  shape.activation = activations[static_cast<std::size_t>(network.activation)];
  shape.theta = network.theta;
  shape.weight_scale = network.weight_scale;
  return shape;
}

bool admits(const NetworkOptions& options, const SmallNetworkCase& network) {
  return network.vocabulary <= options.max_vocabulary && network.width <= options.max_width &&
         network.heads <= options.max_heads && network.depth <= options.max_depth &&
         network.length <= options.max_length && (network.mask == Mask::bert ? options.bert : options.gpt) &&
         (network.residual ? options.with_residual : options.without) && (!network.feedforward || options.feedforward);
}

rc::Gen<SmallNetworkCase> network_cases(const NetworkOptions& options) {
  require_possible(options);
  return shrinking_cases([=](const rc::Random& random, int size) { return draw_network(random, size, options); },
                         [=](const SmallNetworkCase& from) { return shrink_network_case(from, options); });
}

rc::Seq<SmallNetworkCase> shrink_network_case(const SmallNetworkCase& network, const NetworkOptions& options) {
  std::vector<SmallNetworkCase> simpler = simpler_networks(network);
  std::erase_if(simpler, [&](const SmallNetworkCase& candidate) { return !admits(options, candidate); });
  return rc::seq::fromContainer(std::move(simpler));
}

std::string to_text(const SmallNetworkCase& network) {
  char seed[24];
  std::snprintf(seed, sizeof seed, "0x%llx", static_cast<unsigned long long>(network.seed));
  return std::string("network seed=") + seed + " vocabulary=" + std::to_string(network.vocabulary) +
         " width=" + std::to_string(network.width) + " heads=" + std::to_string(network.heads) +
         " depth=" + std::to_string(network.depth) +
         " mask=" + std::string(mask_names[static_cast<std::size_t>(network.mask)]) +
         " residual=" + std::to_string(network.residual) + " feedforward=" + std::to_string(network.feedforward) +
         " activation=" + std::string(activation_names[static_cast<std::size_t>(network.activation)]) +
         " theta=" + numerics::hex_float(network.theta) + " weight_scale=" + numerics::hex_float(network.weight_scale) +
         " length=" + std::to_string(network.length);
}

void from_text(std::string_view text, SmallNetworkCase& network) {
  const std::vector<std::string_view> words = words_of(text);
  if (words.size() != 13 || words[0] != "network") {
    throw std::invalid_argument("network case: need \"network\" and 12 words key=value, got \"" + std::string(text) +
                                "\"");
  }
  const auto small = [&](std::size_t i, std::string_view key, std::uint64_t lowest, std::uint64_t highest) {
    return static_cast<int>(parse_count(value_of(words[i], key), lowest, highest));
  };
  SmallNetworkCase result;
  result.seed = parse_count(value_of(words[1], "seed"));
  result.vocabulary = small(2, "vocabulary", 1, most_symbols);
  result.width = small(3, "width", 1, 1024);
  result.heads = small(4, "heads", 1, 1024);
  result.depth = small(5, "depth", 1, 1024);
  result.mask = static_cast<Mask>(index_of(mask_names, value_of(words[6], "mask")));
  result.residual = small(7, "residual", 0, 1) == 1;
  result.feedforward = small(8, "feedforward", 0, 1) == 1;
  result.activation = static_cast<Nonlinearity>(index_of(activation_names, value_of(words[9], "activation")));
  result.theta = parse_positive(words[10], "theta");
  result.weight_scale = parse_positive(words[11], "weight_scale");
  result.length = parse_count(value_of(words[12], "length"), 1);
  network = result;
}

std::size_t size_of(const SmallNetworkCase& network) { return network.length; }

void showValue(const SmallNetworkCase& network, std::ostream& stream) { stream << to_text(network); }

}  // namespace softcheck::proptests
