#pragma once

#include <cstddef>
#include <span>

#include "judge/ops/attention/attention_judge.hpp"
#include "judge/results/tensor_judge.hpp"
#include "judge/results/tensor_tally.hpp"
#include "numerics/rounding/contract.hpp"

/// The gradients of attention by its sinks and by its bias, at hand: sums over heads and batches.
namespace softcheck::proptests {

/// judge_tensors, reference and thresholds of attention's gradient; the task and its formats have been checked. Rows
/// are queries, then keys: judge_attention_gradient judges a call's in the same way. Then sinks, then rows of the bias
/// (gradient_judge.hpp).
TensorJudgement judge_gradients(const TensorTask& task, const numerics::Contract& contract,
                                std::span<const GivenTensor> outputs, const TensorOptions& options);

void reference_of_gradient(const TensorTask& task, const numerics::Contract& contract, std::size_t which,
                           std::span<double> lower, std::span<double> upper);

void thresholds_of_gradient(const TensorTask& task, const numerics::Contract& contract, std::size_t which,
                            std::span<double> allowed);

/// Is output `which` one of them?
bool is_gradient_sum(const TensorTask& task, std::size_t which);

/// Judges those that are at hand (TensorTask::asked), row by row behind the keys: a number of each sink, and the rows
/// of the bias. The queries of all heads and batches that share a number are in memory together.
///
/// outputs   all of the task
/// returns   false where the work was interrupted
/// throws    std::invalid_argument where more than 2^24 scores share a sink, or a head of the bias
bool judge_gradient_sums(const TensorTask& task, const AttentionTask& by, std::span<const GivenTensor> outputs,
                         TensorTally& tally);

/// As tensor_judge.hpp has them, of one of these outputs.
void reference_of_sum(const TensorTask& task, const AttentionTask& by, std::size_t which, std::span<double> lower,
                      std::span<double> upper);
void thresholds_of_sum(const TensorTask& task, const AttentionTask& by, std::size_t which, std::span<double> allowed);

}  // namespace softcheck::proptests
