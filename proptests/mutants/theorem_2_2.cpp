#include "theory/theorem_2_2.hpp"

#include <rapidcheck.h>

#include <algorithm>

#include "proptests/mutants/planted.hpp"
#include "proptests/properties/network_sequence.hpp"
#include "proptests/properties/properties.hpp"
#include "proptests/properties/row_levels.hpp"

namespace softcheck::proptests {
namespace {

using numerics::Enclosure;
using theory::Box;
using theory::SmallTransformer;
using theory::SpreadBounds;

// bound_spreads with another rule for the box after a layer.
template <class NextBox>
SpreadBounds bounds_by(const SmallTransformer& model, NextBox&& next_box) {
  const numerics::PrecisionScope scope(64);
  SpreadBounds bounds;
  Box box = theory::embedding_box(model);
  for (const theory::TransformerLayer& layer : model.layers) {
    theory::LayerBounds now{box, {}};
    for (const theory::AttentionHead& head : layer.heads) {
      now.spreads.push_back(theory::spread_over_box(head, box).upper_double());
      bounds.spread = std::max(bounds.spread, now.spreads.back());
    }
    bounds.layers.push_back(std::move(now));
    box = next_box(layer, box);
  }
  bounds.outputs = std::move(box);
  return bounds;
}

SpreadBounds without_residual(const SmallTransformer& model) {
  SmallTransformer changed = model;
  changed.shape.residual = false;
  return theory::bound_spreads(changed);
}

// The hull of the images of two opposite corners of the box, although an activation is not monotone in each coordinate.
SpreadBounds by_corners(const SmallTransformer& model) {
  return bounds_by(model, [&](const theory::TransformerLayer& layer, const Box& box) {
    const auto image = [&](Enclosure (*corner)(const Enclosure&)) {
      Box point;
      for (const Enclosure& side : theory::feedforward_input_box(model, layer, box)) point.push_back(corner(side));
      return theory::apply_feedforward(model, layer, point);
    };
    const Box lower = image(theory::lower_end);
    const Box upper = image(theory::upper_end);
    Box result;
    for (std::size_t c = 0; c < lower.size(); ++c) result.push_back(hull(lower[c], upper[c]));
    return result;
  });
}

// As if every layer attended to the embeddings.
SpreadBounds first_layer_only(const SmallTransformer& model) {
  return bounds_by(model, [](const theory::TransformerLayer&, const Box& box) { return box; });
}

NetworkCheck boxed_by(SpreadBounds (*wrong)(const SmallTransformer&)) {
  return [wrong](SmallNetworkCase network) {
    network.feedforward = true;
    const auto model = model_of(network);
    theory::TraceLadder trace(model, runs_of(network));
    return theory::certify_boxed(trace, wrong(model));
  };
}

// Checks networks with at least two symbols and two layers, so that errors after the first layer show in small
// networks, too.
NetworkCheck bounded_by(SpreadBounds (*wrong)(const SmallTransformer&)) {
  return [wrong](const SmallNetworkCase& network) {
    SmallNetworkCase deep = with_two_symbols(network);
    deep.depth = std::max(deep.depth, 2);
    const auto model = model_of(deep);
    const auto [a, b] = two_symbols_of(deep);
    theory::TraceLadder trace(model, {{a, 1}, {b, 3}});
    return theory::certify_spreads(trace, wrong(model));
  };
}

// The claim at n0 = 1/epsilon, as if the spread were 0, for one token among 1/epsilon others.
Certificates disperses_without_spread(const SmallNetworkCase& network) {
  constexpr double epsilon = 0.125;
  const SmallNetworkCase two = with_two_symbols(network);
  const auto model = model_of(two);
  const auto [a, b] = two_symbols_of(two);
  SpreadBounds flat = theory::bound_spreads(model);
  for (theory::LayerBounds& layer : flat.layers) layer.spreads.assign(layer.spreads.size(), 0);
  theory::TraceLadder trace(model, {{a, 1}, {b, 1 / epsilon}});
  return theory::certify_dispersal(trace, flat, epsilon);
}

// 1 + e^(delta/theta)/epsilon: without the factor 1 - epsilon.
Certificates length_without_its_factor(const SmallNetworkCase& network) {
  const auto model = model_of(network);
  const double spread = theory::bound_spreads(model).spread;
  const double theta = model.shape.theta;
  return {numerics::certify_less_equal("theorem_2_2.sharp_length", to_text(network), [&] {
    const Enclosure paper = theory::dispersion_length_paper(Enclosure(spread), Enclosure(theta), Enclosure(0.125));
    return numerics::Sides{Enclosure(1) + paper, paper, Enclosure(-1)};
  })};
}

// The bound of another head, at most 500, which bounds the correct head (normed_sequences) and keeps lengths within the
// range of double.
NormedHeadCheck normed_by(double (*wrong)(theory::NormedHead)) {
  return [wrong](const NormedHeadCase& head_case) {
    Certificates all;
    for (const NormedSequence& sequence : normed_sequences(head_case)) {
      const double spread = std::min(wrong(sequence.head), 500.0);
      append(all, theory::certify_normalised(sequence.head, sequence.query, sequence.items, spread, 0.5));
    }
    return all;
  };
}

double without_gain(theory::NormedHead head) {
  head.gain.setOnes();
  return theory::normalised_spread(head);
}

double without_shift(theory::NormedHead head) {
  head.shift.setZero();
  return theory::normalised_spread(head);
}

// |z| < 1 instead of |z| < sqrt(d), without offsets.
double of_unit_vectors(theory::NormedHead head) {
  return theory::normalised_spread(head) / static_cast<double>(head.gain.size());
}

}  // namespace

std::vector<PlantedVersion> theorem_2_2_planted() {
  return {
      {"forgets the residual connection", activations_stay_in_their_boxes(boxed_by(without_residual))},
      {"evaluates the MLP at two corners of the box", activations_stay_in_their_boxes(boxed_by(by_corners))},
      {"forgets the residual connection", spreads_are_bounded(bounded_by(without_residual))},
      {"takes every layer for the first", spreads_are_bounded(bounded_by(first_layer_only))},
      {"forgets the spread", every_head_disperses(disperses_without_spread)},
      {"forgets the factor 1 - epsilon", sharp_length_is_shorter(length_without_its_factor)},
      {"forgets the norm's gain", normed_heads_disperse(normed_by(without_gain))},
      {"forgets the norm's shift", normed_heads_disperse(normed_by(without_shift))},
      {"takes the norm's vectors for unit vectors", normed_heads_disperse(normed_by(of_unit_vectors))},
  };
}

}  // namespace softcheck::proptests
