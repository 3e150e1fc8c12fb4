#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>

#include "judge/results/tensor_judge.hpp"
#include "numerics/rounding/contract.hpp"

namespace softcheck::proptests {

/// What another causality, or other contracts, say of results that fail by theirs.
struct ContractFit {
  std::optional<numerics::Contract> contract;  // the first that all rows keep, in the order that --infer tries them
  std::size_t tried = 0;
  bool all_tried = false;  // false: one fits, or there was not the time
  std::string reading;     // of a call with another causality, by which all rows are right; no contract is then tried

  /// A line for a reader: the words that fit, or that none does; empty where that is not known.
  std::string text() const;
};

/// For fitting_contract: as long as the judgement took, and two seconds more.
double seconds_for_fit(const TensorJudgement& judgement);

/// Judges failed results of attention as those of another causality, and all by the usual contracts: those that differ
/// in the accumulator, the exponential, what is stored on the way and, where a row with nothing visible failed, in what
/// such a row is.
///
/// judgement   by `contract`; where nothing failed, or a claim that no contract changes, nothing is tried
/// options     as of the judgement: claims that are exempt stay so
/// seconds     after these no other contract is tried
ContractFit fitting_contract(const TensorTask& task, const numerics::Contract& contract,
                             std::span<const GivenTensor> outputs, const TensorJudgement& judgement,
                             const TensorOptions& options, double seconds);

}  // namespace softcheck::proptests
