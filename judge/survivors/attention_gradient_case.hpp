#pragma once

#include <functional>
#include <vector>

#include "judge/survivors/attention_case.hpp"

namespace softcheck::proptests {

/// Attention's gradient as a published test asks for it: the call, and dq, dk and dv in double arithmetic, rounded to
/// the format. The saved outputs are the exact ones, rounded.
struct GradientCase {
  CriterionCase criterion_case;
  /// The largest errors of dq, dk and dv where scaled keys, scores, coefficients, their gradients, the products of both
  /// and each result are rounded to the format: what PyTorch computes of 16-bit tensors without a fused kernel.
  std::vector<double> errors_of_unfused;
};

/// Without softcap and slopes. Each query sees a key.
///
/// value, upstream   elements of q, k and v, and of the gradient by the output, to be rounded to the format
GradientCase attention_gradient_case(const PublishedTensors& tensors, const std::function<double()>& value,
                                     const std::function<double()>& upstream);

/// Asks dq, dk and dv for one rule each.
void ask_gradients(CriterionCase& criterion_case, const std::vector<Comparison>& of_each);

}  // namespace softcheck::proptests
