#pragma once

#include <optional>
#include <span>

#include "judge/verdict/value_certificate.hpp"
#include "numerics/rounding/contract.hpp"

namespace softcheck::proptests {

/// A softmax row for which all claims of judge_values are proved.
struct QuickRow {
  double element_share = 0;         // the largest share of a threshold that an element uses
  std::optional<double> sum_share;  // the same for the row's sum, if anything is promised for it
  ErrorSums errors;                 // errors of the elements
  VacuityCount vacuity;
};

/// The result of judge_values for a row, if the filter alone proves all its claims; nothing otherwise: then call
/// judge_values. Derivation: docs/kernels/files.md, "The quick way".
///
/// logits   (n) finite or -inf, at least one finite
/// got      (n)
std::optional<QuickRow> quick_softmax(const numerics::Contract& contract, std::span<const double> logits, double theta,
                                      std::span<const double> got);

}  // namespace softcheck::proptests
