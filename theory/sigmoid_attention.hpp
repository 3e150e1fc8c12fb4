#pragma once

#include <vector>

#include "numerics/enclosures/certificate.hpp"
#include "theory/level_row.hpp"
#include "theory/scalar.hpp"

namespace softcheck::theory {

// Sigmoid attention (FlashSigmoid, arXiv 2409.04431): the coefficient of a logit x is sigmoid(x + b), which no other
// item changes. With a fixed b it does not disperse; with b = -ln n it is of order 1/n, like a softmax's.

/// 1 / (1 + e^-x)
template <Scalar T>
T sigmoid(const T& x) {
  return T(1) / (T(1) + exp(-x));
}

/// sigmoid_attention.fixed_bias, two: every coefficient of the row lies in [sigmoid(b - B), sigmoid(b + B)], B the
/// largest magnitude of its logits, at most 2^60. Neither end depends on the row's length.
///
/// bias     b, finite
/// throws   std::invalid_argument when bias or B is not as said
std::vector<numerics::Certificate> certify_fixed_bias(const LevelRow& row, double bias);

/// sigmoid_attention.log_length, two: with b = -ln n every coefficient lies in [e^-B / (n + e^-B), e^B / n].
std::vector<numerics::Certificate> certify_log_length(const LevelRow& row);

}  // namespace softcheck::theory
