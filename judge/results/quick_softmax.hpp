#pragma once

#include <optional>
#include <span>

#include "judge/verdict/value_certificate.hpp"
#include "numerics/rounding/contract.hpp"

namespace softcheck::proptests {

/// A row of softmax values that holds, as judge_values has it: all claims proved.
struct QuickRow {
  double element_share = 0;         // the largest part of a threshold that an element uses
  std::optional<double> sum_share;  // the same of the row's sum, where something is promised of it
  ErrorSums errors;                 // of the elements
  VacuityCount vacuity;
};

/// What judge_values finds of a row, where the filter alone proves that all of it holds; nothing where it does not:
/// then judge_values is to be asked. Derivation: docs/kernels/files.md, "The quick way".
///
/// logits   (n) finite or -inf, at least one finite
/// got      (n)
std::optional<QuickRow> quick_softmax(const numerics::Contract& contract, std::span<const double> logits, double theta,
                                      std::span<const double> got);

}  // namespace softcheck::proptests
