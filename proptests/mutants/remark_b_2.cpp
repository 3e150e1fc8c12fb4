#include "theory/remark_b_2.hpp"

#include <rapidcheck.h>

#include "proptests/mutants/planted.hpp"
#include "proptests/properties/network_sequence.hpp"
#include "proptests/properties/properties.hpp"
#include "theory/coordinate_box.hpp"

namespace softcheck::proptests {
namespace {

using numerics::Enclosure;
using theory::ForgettingBounds;

// The constants of the BERT recurrence, with or without the factor e^(delta/theta) and the residual connection.
std::vector<Enclosure> constants_by(const ForgettingBounds& bounds, bool disperse, bool residual) {
  const numerics::PrecisionScope scope(64);
  std::vector<Enclosure> result{Enclosure(0)};
  for (const theory::LayerGains& layer : bounds.layers()) {
    Enclosure kept(residual && bounds.model().shape.residual ? 1 : 0);
    Enclosure added(0);
    for (std::size_t h = 0; h < layer.values.size(); ++h) {
      kept += layer.values[h];
      added += disperse ? layer.dispersion[h] * layer.diameters[h] : layer.diameters[h];
    }
    result.push_back(theory::upper_end(layer.feedforward * (kept * result.back() + added)));
  }
  return result;
}

Certificates bert_without_spread(const SmallNetworkCase& network) {
  const SmallNetworkCase two = with_two_symbols(network);
  const auto model = model_of(two);
  const auto [a, b] = two_symbols_of(two);
  const ForgettingBounds bounds(model, a, b);
  return theory::certify_bert_forgets(bounds, static_cast<double>(two.length), constants_by(bounds, false, true));
}

// D_l(i) = |a - b| G ||V|| ...: without the residual part, as if token 1 lost its own embedding.
Certificates gpt_without_residual(const SmallNetworkCase& network) {
  const SmallNetworkCase two = with_two_symbols(network);
  const auto model = model_of(two);
  const auto [a, b] = two_symbols_of(two);
  const ForgettingBounds bounds(model, a, b);
  auto changed = model;
  changed.shape.residual = false;
  const ForgettingBounds wrong(changed, a, b);
  return theory::certify_gpt_forgets(bounds, two.length, wrong.gpt_distances(two.length + 1));
}

// n = c_L / tolerance, as if a GPT network forgot at the rate 1/n.
Certificates length_without_logarithms(const SmallNetworkCase& network) {
  constexpr double tolerance = 0x1p-10;
  const SmallNetworkCase two = with_two_symbols(network);
  const auto model = model_of(two);
  const auto [a, b] = two_symbols_of(two);
  const ForgettingBounds bounds(model, a, b);
  const Enclosure length = theory::smallest_integer_above([&] {
    const auto constants =
        model.shape.mask == theory::AttentionMask::bert ? bounds.bert_constants() : bounds.gpt_constants();
    return constants.back() / Enclosure(tolerance);
  });
  return theory::certify_forgetting_length(bounds, tolerance, length);
}

// Treats every token of a GPT sequence like the last one.
Certificates gpt_as_bert(const SmallNetworkCase& network) {
  const SmallNetworkCase two = with_two_symbols(network);
  const auto model = model_of(two);
  const auto [a, b] = two_symbols_of(two);
  const ForgettingBounds bounds(model, a, b);
  const numerics::PrecisionScope scope(64);
  std::vector<std::vector<Enclosure>> flat;
  for (const Enclosure& constant : bounds.bert_constants()) {
    flat.emplace_back(two.length + 1, theory::upper_end(constant / Enclosure::integer(two.length + 1)));
  }
  return theory::certify_gpt_forgets(bounds, two.length, flat);
}

}  // namespace

std::vector<PlantedVersion> remark_b_2_planted() {
  return {
      {"forgets the spread", bert_forgets(bert_without_spread)},
      {"forgets the residual connection", gpt_forgets(gpt_without_residual)},
      {"lets early GPT tokens forget like the last", gpt_forgets(gpt_as_bert)},
      {"forgets the logarithms of the GPT rate", forgets_below_every_tolerance(length_without_logarithms)},
  };
}

}  // namespace softcheck::proptests
