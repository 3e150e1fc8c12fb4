#include <rapidcheck.h>

#include <cmath>

#include "proptests/generators/text/case_text.hpp"
#include "proptests/properties/properties.hpp"

namespace softcheck::proptests {
namespace {

using theory::QueryAndItems;

Eigen::VectorXd near_top_singular_vector(const Eigen::MatrixXd& matrix, Eigen::VectorXd start) {
  constexpr int steps = 64;
  if (start.isZero(0)) start.setOnes();
  for (int step = 0; step < steps; ++step) {
    const Eigen::VectorXd next = matrix.transpose() * (matrix * start);
    const double length = next.norm();
    if (!(length > 0)) break;
    start = next / length;
  }
  return shortened(start);
}

Certificates on_near_extremal(const ProjectionCase& projection,
                              Certificates (*certify)(const theory::SpreadEvaluation&)) {
  Certificates result;
  for (const QueryAndItems& input : with_near_extremal(projection)) {
    for (auto& certificate : certify(theory::SpreadEvaluation(input))) result.push_back(std::move(certificate));
  }
  return result;
}

}  // namespace

// Short numbers of similar size, so that 512 bits resolve the closest near-ties. Drops components 2^-32 below the
// largest: power iteration leaves some as small as 2^-256, whose squares exceed 512 bits. The direction changes by
// 2^-16, a near-extremal length only by the square of that.
Eigen::VectorXd shortened(const Eigen::VectorXd& x) {
  const double negligible = x.size() == 0 ? 0 : 0x1p-32 * x.cwiseAbs().maxCoeff();
  return x.unaryExpr(
      [negligible](double entry) { return std::abs(entry) < negligible ? 0 : round_to_bits(entry, 16); });
}

void oppose_items(QueryAndItems& input) {
  const Eigen::VectorXd along = shortened(input.key.transpose() * (input.query * input.y + input.query_bias));
  input.items.resize(2, along.size());
  input.items.row(0) = along.transpose();
  input.items.row(1) = -along.transpose();
}

std::vector<QueryAndItems> with_near_extremal(const ProjectionCase& projection) {
  const QueryAndItems drawn = query_and_items(projection);
  QueryAndItems opposed = drawn;
  oppose_items(opposed);
  QueryAndItems biased = drawn;
  biased.y.setZero();
  oppose_items(biased);
  QueryAndItems aligned = drawn;
  aligned.key = aligned.query;
  aligned.query_bias.setZero();
  aligned.key_bias.setZero();
  aligned.y = near_top_singular_vector(aligned.query, aligned.y);
  oppose_items(aligned);
  return {drawn, std::move(opposed), std::move(biased), std::move(aligned)};
}

PropertyOf<ProjectionCase> spreads_within_forms(ProjectionCheck check) {
  return {"Proposition31",
          "TheSpreadIsAtMostEveryForm",
          {"proposition_3_1.paper", "proposition_3_1.biased", "proposition_3_1.difference", "proposition_3_1.joint",
           "proposition_3_1.direct"},
          projection_cases(),
          std::move(check)};
}

PropertyOf<ProjectionCase> sharper_forms_are_not_wider(ProjectionCheck check) {
  return {
      "Proposition31", "ASharperFormIsNeverWider", {"proposition_3_1.ordering"}, projection_cases(), std::move(check)};
}

std::vector<Property> proposition_3_1_properties() {
  return {spreads_within_forms([](const ProjectionCase& projection) {
            return on_near_extremal(projection, theory::certify_spread_forms);
          }),
          sharper_forms_are_not_wider([](const ProjectionCase& projection) {
            return on_near_extremal(projection, theory::certify_form_ordering);
          })};
}

}  // namespace softcheck::proptests
