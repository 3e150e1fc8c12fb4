#include "theory/sigmoid_attention.hpp"

#include <rapidcheck.h>

#include <algorithm>
#include <cmath>

#include "proptests/mutants/planted.hpp"
#include "proptests/properties/properties.hpp"

namespace softcheck::proptests {
namespace {

using numerics::certify_less_equal;
using numerics::Enclosure;
using numerics::Sides;
using theory::sigmoid;

// [sigmoid(-B), sigmoid(B)], whatever b is.
RowCheck bounds_without_bias() {
  return decided_only([](const RowCase& row_case) {
    const theory::LevelRow row = levels_of(row_case);
    const double most = std::max(std::fabs(row.largest()), std::fabs(row.smallest()));
    return Certificates{certify_less_equal("sigmoid_attention.fixed_bias", to_text(row_case), [&] {
      return Sides{sigmoid(Enclosure(-most)), sigmoid(Enclosure(row.smallest()) - Enclosure(row_case.theta))};
    })};
  });
}

// Disperses with any bias.
RowCheck fixed_bias_disperses() {
  return decided_only([](const RowCase& row_case) {
    const theory::LevelRow row = levels_of(row_case);
    const double most = std::max(std::fabs(row.largest()), std::fabs(row.smallest()));
    return Certificates{certify_less_equal("sigmoid_attention.log_length", to_text(row_case), [&] {
      const Enclosure n = theory::count_as<Enclosure>(row.visible());
      return Sides{sigmoid(Enclosure(row.largest())), exp(Enclosure(most)) / n};
    })};
  });
}

}  // namespace

std::vector<PlantedVersion> sigmoid_attention_planted() {
  return {{"forgets the bias in the bounds", fixed_biases_keep_coefficients(bounds_without_bias())},
          {"lets a fixed bias disperse", length_biases_disperse(fixed_bias_disperses())}};
}

}  // namespace softcheck::proptests
