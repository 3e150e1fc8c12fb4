#pragma once

#include <cstddef>
#include <span>

#include "judge/ops/attention/attention_judge.hpp"
#include "judge/results/tensor_judge.hpp"
#include "judge/results/tensor_tally.hpp"
#include "numerics/rounding/contract.hpp"

/// Attention's gradients in memory; those by its sinks and its bias are sums over heads and batches.
namespace softcheck::proptests {

/// judge_tensors for attention's gradient; the task and its formats have been checked. Rows are queries, then keys (as
/// judge_attention_gradient judges a call's), then sinks, then rows of the bias.
TensorJudgement judge_gradients(const TensorTask& task, const numerics::Contract& contract,
                                std::span<const GivenTensor> outputs, const TensorOptions& options);

void reference_of_gradient(const TensorTask& task, const numerics::Contract& contract, std::size_t which,
                           std::span<double> lower, std::span<double> upper);

void thresholds_of_gradient(const TensorTask& task, const numerics::Contract& contract, std::size_t which,
                            std::span<double> allowed);

/// Is output `which` the gradient by the sinks or by the bias?
bool is_gradient_sum(const TensorTask& task, std::size_t which);

/// Judges these gradients if the caller has them (TensorTask::asked), as rows after the keys: one number per sink, and
/// the rows of the bias. Holds the queries of all heads and batches that share a number in memory.
///
/// outputs   all of the task
/// returns   false if the work was interrupted
/// throws    std::invalid_argument if more than 2^24 scores share a sink, or a head of the bias
bool judge_gradient_sums(const TensorTask& task, const AttentionTask& by, std::span<const GivenTensor> outputs,
                         TensorTally& tally);

/// reference and thresholds (tensor_judge.hpp) of one of these outputs.
void reference_of_sum(const TensorTask& task, const AttentionTask& by, std::size_t which, std::span<double> lower,
                      std::span<double> upper);
void thresholds_of_sum(const TensorTask& task, const AttentionTask& by, std::size_t which, std::span<double> allowed);

}  // namespace softcheck::proptests
