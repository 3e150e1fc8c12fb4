#include "theory/rotary_positions.hpp"

#include <rapidcheck.h>

#include "proptests/mutants/planted.hpp"
#include "proptests/properties/properties.hpp"

namespace softcheck::proptests {
namespace {

using numerics::certify_agreement;
using numerics::certify_less_equal;
using numerics::Enclosure;
using numerics::Sides;
using theory::as_scalars;
using theory::QkNormHead;
using theory::RotaryHead;
using EnclosedVector = std::vector<Enclosure>;

EnclosedVector query_of(const RotaryHead& rotary) {
  const theory::QueryAndItems& at = rotary.head.at;
  return theory::add(theory::multiply(at.query, as_scalars<Enclosure>(at.y)), as_scalars<Enclosure>(at.query_bias));
}

// u . R_j k_j of every item.
EnclosedVector scores_of(const RotaryHead& rotary) {
  const theory::QueryAndItems& at = rotary.head.at;
  EnclosedVector scores;
  for (Eigen::Index j = 0; j < at.items.rows(); ++j) {
    const EnclosedVector key = theory::add(theory::multiply(at.key, as_scalars<Enclosure>(at.items.row(j))),
                                           as_scalars<Enclosure>(at.key_bias));
    const auto turns = rotary.turns(static_cast<std::size_t>(j));
    scores.push_back(theory::dot(query_of(rotary), theory::rotate<Enclosure>(rotary.planes, turns, key)));
  }
  return scores;
}

Enclosure largest_size(const EnclosedVector& x) {
  Enclosure largest;
  for (const Enclosure& entry : x) largest = maximum(largest, abs(entry));
  return largest;
}

// One weight per coordinate: 1 in the first half and 16 in the second, so every half-split plane has both.
EnclosedVector coordinate_weights(std::size_t width) {
  EnclosedVector weights;
  for (std::size_t i = 0; i < width; ++i) weights.emplace_back(i < width / 2 ? 1 : 16);
  return weights;
}

template <class Certify>
BallCheck on_half_split_heads(Certify certify) {
  return [certify](const ProjectionCase& projection) {
    Certificates all;
    for (RotaryHead rotary : rotary_heads(projection)) {
      const std::size_t width = projection.query.rows;
      rotary.planes = theory::half_split_planes(width, width - width % 2);
      all.push_back(certify(rotary));
    }
    std::erase_if(all, [](const auto& one) { return one.verdict == numerics::Verdict::undecided; });
    return all;
  };
}

numerics::Certificate isometry_a_coordinate(const RotaryHead& rotary) {
  return certify_agreement("rotary_positions.isometry", theory::describe(rotary.head.at), [&] {
    const EnclosedVector query = query_of(rotary), weights = coordinate_weights(query.size());
    const auto length = [&](const EnclosedVector& x) {
      Enclosure sum;
      for (std::size_t i = 0; i < x.size(); ++i) sum += square(weights[i] * x[i]);
      return sqrt(sum);
    };
    const std::size_t last = static_cast<std::size_t>(rotary.head.at.items.rows()) - 1;
    return Sides{length(theory::rotate<Enclosure>(rotary.planes, rotary.turns(last), query)), length(query)};
  });
}

numerics::Certificate logit_by_coordinates(const RotaryHead& rotary) {
  return certify_less_equal("rotary_positions.logit", theory::describe(rotary.head.at), [&] {
    const EnclosedVector query = query_of(rotary), weights = coordinate_weights(query.size());
    const auto width = static_cast<Eigen::Index>(query.size());
    const double lambda =
        theory::largest_square(rotary.head.key_ball(), {Eigen::MatrixXd::Identity(width, width), weights}, 1);
    Enclosure of_query;
    for (std::size_t i = 0; i < query.size(); ++i) of_query += square(query[i]) / weights[i];
    return Sides{largest_size(scores_of(rotary)), sqrt(Enclosure(lambda) * of_query)};
  });
}

numerics::Certificate one_logit_for_the_spread(const RotaryHead& rotary) {
  return certify_less_equal("rotary_positions.spread", theory::describe(rotary.head.at), [&] {
    const auto width = rotary.head.at.query.rows();
    const theory::WeightedFactor identity{Eigen::MatrixXd::Identity(width, width),
                                          EnclosedVector(static_cast<std::size_t>(width), Enclosure(1))};
    const Enclosure query(theory::largest_square(rotary.head.query_ball(), identity, balanced_t(rotary.head)));
    const Enclosure key(theory::largest_square(rotary.head.key_ball(), identity, balanced_t(rotary.head)));
    return Sides{theory::largest_difference(scores_of(rotary)), theory::rotary_logit(Enclosure(1), query, key)};
  });
}

// The folded form of a head without rotary positions, in which the key bias cancels, for keys that are all bias.
numerics::Certificate key_bias_cancels(RotaryHead rotary) {
  rotary.head.at.items.setZero();
  rotary.head.key_square = 0;
  return certify_less_equal("rotary_positions.spread", theory::describe(rotary.head.at), [&] {
    const theory::BallHead& head = rotary.head;
    const auto sigma = theory::certified_sigma();
    const Enclosure bias_norm = sqrt(theory::norm_square(as_scalars<Enclosure>(head.at.query_bias)));
    return Sides{theory::largest_difference(scores_of(rotary)),
                 theory::folded_spread(Enclosure(1), Enclosure(sigma(head.at.query)), Enclosure(sigma(head.at.key)),
                                       bias_norm, Enclosure(head.query_square), Enclosure(head.key_square))};
  });
}

// max |w_q w_k| over the coordinates, as if there were no rotation.
Certificates gain_of_coordinates(const ProjectionCase& projection) {
  Certificates all;
  for (const QkNormHead& head : qk_norm_heads(projection)) {
    all.push_back(certify_less_equal("rotary_positions.qk_norm", to_text(projection), [&] {
      const auto times = [](const std::vector<double>& gains, const std::vector<double>& x) {
        EnclosedVector result;
        for (std::size_t i = 0; i < x.size(); ++i) result.push_back(Enclosure(gains[i]) * Enclosure(x[i]));
        return result;
      };
      const EnclosedVector gains = times(head.query_gains, head.key_gains);
      EnclosedVector scores;
      for (std::size_t j = 0; j < head.keys.size(); ++j) {
        const auto key = theory::rotate<Enclosure>(head.planes, head.turns(j), times(head.key_gains, head.keys[j]));
        scores.push_back(theory::dot(times(head.query_gains, head.query), key));
      }
      return Sides{largest_size(scores), theory::qk_norm_logit(Enclosure(1), Enclosure(head.query_square),
                                                               Enclosure(head.key_square), largest_size(gains))};
    }));
  }
  std::erase_if(all, [](const auto& one) { return one.verdict == numerics::Verdict::undecided; });
  return all;
}

}  // namespace

std::vector<PlantedVersion> rotary_positions_planted() {
  return {
      {"gives each coordinate a weight of its own",
       turns_keep_weighted_lengths(on_half_split_heads(isometry_a_coordinate))},
      {"gives each coordinate a weight of its own",
       rotary_logits_within_forms(on_half_split_heads(logit_by_coordinates))},
      {"takes one logit for the spread", rotary_spreads_within_forms(on_half_split_heads(one_logit_for_the_spread))},
      {"lets the key bias cancel that positions turn",
       rotary_spreads_within_forms(on_half_split_heads(key_bias_cancels))},
      {"takes the largest gain of one coordinate", qk_norm_logits_within_form(gain_of_coordinates)},
  };
}

}  // namespace softcheck::proptests
