#include "theory/entropy_bounds.hpp"

#include <rapidcheck.h>

#include "proptests/properties/properties.hpp"

namespace softcheck::proptests {

PropertyOf<RowCase> entropy_lies_between_floor_and_ceiling(RowCheck check) {
  return {"EntropyBounds",
          "EntropyLiesBetweenItsFloorAndItsCeiling",
          {"entropy_bounds.nonnegative", "entropy_bounds.ceiling", "entropy_bounds.floor"},
          row_cases(),
          std::move(check)};
}

PropertyOf<RowCase> no_entropy_is_below_the_sharp_floor(RowCheck check) {
  return {"EntropyBounds",
          "NoEntropyIsBelowTheSharpFloorOfItsSpread",
          {"entropy_bounds.sharp_floor"},
          row_cases(),
          std::move(check)};
}

std::vector<Property> entropy_bounds_properties() {
  const auto simple = [](const RowCase& row_case) {
    return theory::certify_entropy_bounds(levels_of(row_case), row_case.theta);
  };
  const auto sharp = [](const RowCase& row_case) {
    return Certificates{theory::certify_sharp_floor(levels_of(row_case), row_case.theta)};
  };
  return {entropy_lies_between_floor_and_ceiling(simple), no_entropy_is_below_the_sharp_floor(sharp)};
}

}  // namespace softcheck::proptests
