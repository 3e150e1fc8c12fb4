#pragma once

#include <cstddef>
#include <span>

#include "judge/results/tensor_judge.hpp"
#include "numerics/rounding/contract.hpp"

namespace softcheck::proptests {

/// judge_tensors, reference and thresholds of attention's gradient; the task and its formats have been checked. Rows
/// are queries, then keys: judge_attention_gradient judges a call's in the same way. Then sinks, then rows of the bias
/// (gradient_sums.hpp).
TensorJudgement judge_gradients(const TensorTask& task, const numerics::Contract& contract,
                                std::span<const GivenTensor> outputs, const TensorOptions& options);

void reference_of_gradient(const TensorTask& task, const numerics::Contract& contract, std::size_t which,
                           std::span<double> lower, std::span<double> upper);

void thresholds_of_gradient(const TensorTask& task, const numerics::Contract& contract, std::size_t which,
                            std::span<double> allowed);

}  // namespace softcheck::proptests
