#include "theory/sigmoid_attention.hpp"

#include <rapidcheck.h>

#include <algorithm>
#include <cmath>

#include "proptests/properties/properties.hpp"

namespace softcheck::proptests {
namespace {

// For rows of bounded logits; a row's temperature is a bias here.
RowCheck of_bounded_rows(RowCheck check) {
  return [check = std::move(check)](const RowCase& row_case) {
    const theory::LevelRow row = levels_of(row_case);
    const double most = std::max(std::fabs(row.largest()), std::fabs(row.smallest()));
    return most <= 0x1p60 ? check(row_case) : Certificates{};
  };
}

}  // namespace

PropertyOf<RowCase> fixed_biases_keep_coefficients(RowCheck check) {
  return {"SigmoidAttention",
          "NoCoefficientOfAFixedBiasDisperses",
          {"sigmoid_attention.fixed_bias"},
          row_cases(),
          of_bounded_rows(std::move(check))};
}

PropertyOf<RowCase> length_biases_disperse(RowCheck check) {
  return {"SigmoidAttention",
          "ABiasOfMinusLogNDispersesLikeASoftmax",
          {"sigmoid_attention.log_length"},
          row_cases(),
          of_bounded_rows(std::move(check))};
}

std::vector<Property> sigmoid_attention_properties() {
  const auto fixed = [](const RowCase& row_case) {
    Certificates all;
    for (const double bias : {0.0, -row_case.theta, std::fmin(row_case.theta, 0x1p60)}) {
      append(all, theory::certify_fixed_bias(levels_of(row_case), bias));
    }
    return all;
  };
  const auto lengths = [](const RowCase& row_case) { return theory::certify_log_length(levels_of(row_case)); };
  return {fixed_biases_keep_coefficients(fixed), length_biases_disperse(lengths)};
}

}  // namespace softcheck::proptests
