#pragma once

#include <cstddef>
#include <span>

#include "judge/results/given_tensor.hpp"
#include "judge/results/tensor_judge.hpp"

/// A linear layer's loss and its gradient in memory: hidden (..., dim), weight (classes, dim), labels (...)[, upstream
/// (...)]; loss (...), or dhidden and dweight.
namespace softcheck::proptests {

/// judge_tensors of such a task; the task and its formats have been checked. Rows are those of the hidden states, then,
/// for a gradient, the classes.
TensorJudgement judge_linear(const TensorTask& task, const numerics::Contract& contract,
                             std::span<const GivenTensor> outputs, const TensorOptions& options);
/// reference, thresholds and output_shape.
void reference_of_linear(const TensorTask& task, const numerics::Contract& contract, std::size_t which,
                         std::span<double> lower, std::span<double> upper);
void thresholds_of_linear(const TensorTask& task, const numerics::Contract& contract, std::size_t which,
                          std::span<double> allowed);
Shape shape_of_linear(const TensorTask& task, std::size_t which);

}  // namespace softcheck::proptests
