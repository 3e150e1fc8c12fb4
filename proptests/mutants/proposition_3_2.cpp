#include "theory/proposition_3_2.hpp"

#include <rapidcheck.h>

#include "proptests/mutants/planted.hpp"
#include "proptests/properties/properties.hpp"
#include "theory/tempered_row.hpp"

namespace softcheck::proptests {
namespace {

using numerics::certify_less;
using numerics::certify_less_equal;
using numerics::Enclosure;
using numerics::Sides;
using theory::TemperedRow;

// H(-1.1 beta) <= H(beta): monotone in |beta| across signs; false for [0, 0, 1] at 10 and -11.
Certificates monotone_across_signs(const RowCase& row_case) {
  const theory::LevelRow row = levels_of(row_case);
  const Enclosure beta = 1 / Enclosure(row_case.theta);
  return {certify_less_equal("proposition_3_2.monotone", theory::witness_text(row, row_case.theta), [&] {
    return Sides{TemperedRow(row.mirrored(), 11 * beta / 10).entropy(), TemperedRow(row, beta).entropy()};
  })};
}

// Strict even if all logits are equal.
Certificates strict_everywhere(const RowCase& row_case) {
  const theory::LevelRow row = levels_of(row_case);
  const Enclosure beta = 1 / Enclosure(row_case.theta);
  return {certify_less("proposition_3_2.strict", theory::witness_text(row, row_case.theta), [&] {
    return Sides{Enclosure(0), Enclosure(1), theory::entropy_drop(row, {beta, beta})};
  })};
}

// Compares a difference over a step at beta = 1/delta with step times a wrong derivative, below which it cannot fall by
// more than a factor e^(delta step): certify_derivatives with another formula.
using Moments = theory::PartitionMoments<Enclosure>;
using Difference =
    std::function<Enclosure(const Enclosure& b1, const Moments& m1, const Enclosure& b2, const Moments& m2)>;
using Derivative = std::function<Enclosure(const theory::LevelRow&, const Enclosure& beta, const Moments&)>;

RowCheck derivative_is(const std::string& claim, const Difference& difference, const Derivative& derivative) {
  return [=](const RowCase& row_case) -> Certificates {
    const theory::LevelRow row = levels_of(row_case);
    if (row.all_equal()) return {};
    return {certify_less_equal(claim, theory::witness_text(row, 1), [&] {
      const Enclosure delta = theory::difference(row.largest(), row.smallest());
      const Enclosure beta = 1 / delta, step = beta / 64;
      const Moments first = partition_moments(row, beta), second = partition_moments(row, beta + step);
      return Sides{step * derivative(row, beta, first) * exp(-(delta * step)),
                   difference(beta, first, beta + step, second)};
    })};
  };
}

}  // namespace

std::vector<PlantedVersion> proposition_3_2_planted() {
  const Difference mean_falls = [](const auto&, const Moments& m1, const auto&, const Moments& m2) {
    return m1.mean - m2.mean;
  };
  const Difference entropy_falls = [](const Enclosure& b1, const Moments& m1, const Enclosure& b2, const Moments& m2) {
    return theory::entropy(b1, m1) - theory::entropy(b2, m2);
  };
  const Derivative second_moment = [](const auto&, const auto&, const Moments& m) {
    return m.variance + square(m.mean);
  };
  const Derivative with_beta_squared = [](const auto& row, const Enclosure& beta, const Moments& m) {
    return beta * m.variance + m.variance * beta * beta * theory::difference(row.largest(), row.smallest());
  };
  return {
      {"is monotone across signs", entropy_falls_as_beta_grows(decided_only(monotone_across_signs))},
      {"is strict for equal logits too", entropy_falls_as_beta_grows(strict_everywhere)},
      {"takes the second moment for the variance",
       derivatives_are_moments(derivative_is("proposition_3_2.log_partition_curvature", mean_falls, second_moment))},
      {"adds a term to dH/dbeta",
       derivatives_are_moments(derivative_is("proposition_3_2.entropy_derivative", entropy_falls, with_beta_squared))}};
}

}  // namespace softcheck::proptests
