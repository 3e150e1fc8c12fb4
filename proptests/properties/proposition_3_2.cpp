#include "theory/proposition_3_2.hpp"

#include <rapidcheck.h>

#include <cmath>
#include <limits>

#include "proptests/properties/properties.hpp"

namespace softcheck::proptests {

PropertyOf<RowCase> derivatives_are_moments(RowCheck check) {
  return {"Proposition32",
          "TheDerivativesAreMomentsOfTheLogits",
          {"proposition_3_2.log_partition_derivative", "proposition_3_2.log_partition_curvature",
           "proposition_3_2.entropy_derivative"},
          row_cases(),
          std::move(check)};
}

PropertyOf<RowCase> entropy_falls_as_beta_grows(RowCheck check) {
  return {"Proposition32",
          "EntropyFallsAsBetaGrowsInSizeForEachOfItsSigns",
          {"proposition_3_2.monotone", "proposition_3_2.strict"},
          row_cases(),
          std::move(check)};
}

std::vector<Property> proposition_3_2_properties() {
  const auto derivatives = [](const RowCase& row_case) {
    const theory::LevelRow row = levels_of(row_case);
    Certificates all;
    for (const double beta : {0.0, 1.5, -16.0}) append(all, theory::certify_derivatives(row, beta));
    return all;
  };
  const auto falls = [](const RowCase& row_case) {
    const theory::LevelRow row = levels_of(row_case);
    const double beta = 1 / row_case.theta;
    const double next = std::nextafter(beta, std::numeric_limits<double>::infinity());
    Certificates all = theory::certify_monotone_entropy(row, 0, beta);
    append(all, theory::certify_monotone_entropy(row, beta, next));
    append(all, theory::certify_monotone_entropy(row, beta, 2 * beta));
    append(all, theory::certify_monotone_entropy(row, -2 * beta, -beta));
    return all;
  };
  return {derivatives_are_moments(derivatives), entropy_falls_as_beta_grows(falls)};
}

}  // namespace softcheck::proptests
