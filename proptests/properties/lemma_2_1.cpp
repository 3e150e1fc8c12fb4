#include "theory/lemma_2_1.hpp"

#include <rapidcheck.h>

#include "proptests/properties/properties.hpp"

namespace softcheck::proptests {

PropertyOf<RowCase> coefficients_lie_within_bounds(RowCheck check) {
  return {"Lemma21",
          "EveryCoefficientLiesWithinItsBounds",
          {"lemma_2_1.lower", "lemma_2_1.upper", "lemma_2_1.sharp_lower", "lemma_2_1.sharp_upper"},
          row_cases(),
          std::move(check)};
}

PropertyOf<RowCase> sharp_bounds_are_attained(RowCheck check) {
  return {"Lemma21", "TheSharpBoundsAreAttained", {"lemma_2_1.attained"}, row_cases(), std::move(check)};
}

PropertyOf<RowCase> coefficients_vanish_beyond_the_dispersion_length(RowCheck check) {
  return {"Lemma21",
          "BeyondTheDispersionLengthEveryCoefficientIsBelowEpsilon",
          {"lemma_2_1.dispersion_length"},
          row_cases(),
          std::move(check)};
}

std::vector<Property> lemma_2_1_properties() {
  const auto bounds = [](const RowCase& row_case) {
    return theory::certify_coefficient_bounds(levels_of(row_case), row_case.theta);
  };
  const auto attained = [](const RowCase& row_case) {
    return theory::certify_sharp_bounds_attained(levels_of(row_case), row_case.theta);
  };
  const auto lengths = [](const RowCase& row_case) {
    const theory::LevelRow row = levels_of(row_case);
    const theory::Spread spread{row.largest(), row.smallest(), row_case.theta};
    Certificates all;
    for (const double eps : {0.5, 0.1, 0x1p-10}) append(all, theory::certify_dispersion_length(spread, eps));
    const auto own = theory::own_coefficient_bound(row, row_case.theta);
    if (own) append(all, theory::certify_dispersion_length(spread, *own));
    return all;
  };
  return {coefficients_lie_within_bounds(bounds), sharp_bounds_are_attained(attained),
          coefficients_vanish_beyond_the_dispersion_length(lengths)};
}

}  // namespace softcheck::proptests
