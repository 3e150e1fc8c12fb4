#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>

#include "judge/results/tensor_judge.hpp"
#include "numerics/rounding/contract.hpp"

namespace softcheck::proptests {

/// A causality or a contract by which failed results would be right.
struct ContractFit {
  std::optional<numerics::Contract> contract;  // the first one that all rows keep, in the order of --infer
  std::size_t tried = 0;
  bool all_tried = false;  // false: one fits, or the time ran out
  std::string reading;     // another causality by which all rows are right; then no contract is tried

  /// One line for a reader: the words that fit, or that none does; empty if unknown.
  std::string text() const;
};

/// Time limit for fitting_contract: the judgement's time plus two seconds.
double seconds_for_fit(const TensorJudgement& judgement);

/// Judges failed results of attention with another causality, then all ops' results by the usual contracts: those that
/// differ in the accumulator, the exponential, intermediate storage and, if a fully masked row failed, masked=.
///
/// judgement   by `contract`; if nothing failed, or a claim that no contract changes failed, nothing is tried
/// options     the judgement's; exempt claims stay exempt
/// seconds     processor time, or a fourth of the elapsed time if that is more; after it no other contract is tried
ContractFit fitting_contract(const TensorTask& task, const numerics::Contract& contract,
                             std::span<const GivenTensor> outputs, const TensorJudgement& judgement,
                             const TensorOptions& options, double seconds);

}  // namespace softcheck::proptests
