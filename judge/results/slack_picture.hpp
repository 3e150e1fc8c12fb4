#pragma once

#include <string>

#include "judge/results/tensor_judge.hpp"

namespace softcheck::proptests {

/// How much of their thresholds results used, as an SVG picture on white that needs no program to draw: above, the
/// largest share in each stretch of rows beside the threshold itself; below, how many rows used so much.
std::string slack_picture(const TensorJudgement& judgement, const TensorTask& task, const numerics::Contract& contract);

}  // namespace softcheck::proptests
