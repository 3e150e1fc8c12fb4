#include <rapidcheck.h>

#include "proptests/mutants/planted.hpp"
#include "proptests/properties/properties.hpp"

namespace softcheck::proptests {
namespace {

using numerics::Enclosure;
using theory::SpreadEvaluation;
using Terms = theory::SpreadTerms<Enclosure>;

// Three steps of power iteration: always a lower estimate, but common practice.
double power_iteration(const Eigen::MatrixXd& matrix) {
  Eigen::VectorXd direction = Eigen::VectorXd::Ones(matrix.cols());
  for (int step = 0; step < 3; ++step) {
    const Eigen::VectorXd next = matrix.transpose() * (matrix * direction);
    if (!(next.norm() > 0)) return 0;
    direction = next.normalized();
  }
  return (matrix * direction).norm();
}

Certificates forms_by_power_iteration(const ProjectionCase& projection) {
  Certificates result;
  for (const auto& input : with_near_extremal(projection)) {
    for (auto& certificate : theory::certify_spread_forms(SpreadEvaluation(input, power_iteration))) {
      result.push_back(std::move(certificate));
    }
  }
  return result;
}

// Compares the scaled, biased spread with any formula.
ProjectionCheck against(const char* claim, Enclosure (*form)(const Terms&)) {
  return [=](const ProjectionCase& projection) {
    Certificates result;
    for (const auto& input : with_near_extremal(projection)) {
      const SpreadEvaluation evaluation(input);
      result.push_back(numerics::certify_less_equal(claim, evaluation.witness(), [&] {
        return numerics::Sides{evaluation.observed_scaled(), form(evaluation.terms())};
      }));
    }
    return result;
  };
}

Enclosure without_factor_two(const Terms& t) {
  return sqrt(theory::biased_square(t) / Enclosure(t.dimension)) / Enclosure(2);
}
Enclosure without_bias(const Terms& t) { return sqrt(theory::paper_square(t) / Enclosure(t.dimension)); }
Enclosure divided_by_dimension(const Terms& t) { return sqrt(theory::difference_square(t)) / Enclosure(t.dimension); }
Enclosure norm_of_items_for_differences(const Terms& t) {
  return sqrt(t.direct_square * t.item_square / Enclosure(t.dimension));
}

// joint <= difference: both are sharper than the biased form, but neither is always below the other.
Certificates joint_below_difference(const ProjectionCase& projection) {
  const SpreadEvaluation evaluation(query_and_items(projection));
  return {numerics::certify_less_equal("proposition_3_1.ordering", evaluation.witness(), [&] {
    const auto forms = theory::spread_forms(evaluation.terms());
    return numerics::Sides{forms.joint, forms.difference};
  })};
}

}  // namespace

std::vector<PlantedVersion> proposition_3_1_planted() {
  return {
      {"takes power iteration for a bound", spreads_within_forms(forms_by_power_iteration)},
      {"forgets the factor 2", spreads_within_forms(against("proposition_3_1.biased", without_factor_two))},
      {"forgets the query bias", spreads_within_forms(against("proposition_3_1.biased", without_bias))},
      {"divides by d, not by its root",
       spreads_within_forms(against("proposition_3_1.difference", divided_by_dimension))},
      {"takes the longest item for the longest difference",
       spreads_within_forms(against("proposition_3_1.direct", norm_of_items_for_differences))},
      {"orders the joint form below the difference form", sharper_forms_are_not_wider(joint_below_difference)},
  };
}

}  // namespace softcheck::proptests
