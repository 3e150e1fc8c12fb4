#pragma once

#include "judge/results/tensor_judge.hpp"

namespace softcheck::proptests {

/// theta, scale, causal and the attributes: those that the op has are in their ranges, all others are off.
///
/// throws   std::invalid_argument naming the parameter, what is needed and what was got
void require_parameters(const TensorTask& task);

}  // namespace softcheck::proptests
