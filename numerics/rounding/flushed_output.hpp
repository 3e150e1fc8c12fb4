#pragma once

#include <cstdint>

#include "numerics/rounding/contract.hpp"

/// What subnormal=flushed grants a result. Proof: theory/proofs/numerics/flushed_output.v, docs/tolerances.md, "The
/// model".
///
/// A threshold counts once what storing may take from a result: N, the smallest normal number of the output's format,
/// where the contract flushes. A flushed result is 0. One that is not 0 was stored like one of a contract that keeps
/// subnormal numbers, and lost half of the smallest one at most.
namespace softcheck::numerics {

/// What the threshold of a result that is not 0 has too much: N less half of the smallest subnormal number; 0 where the
/// contract does not flush, or the output holds all numbers of the accumulator.
double flushing_excess(const Contract& contract);

/// The threshold of a result that is known.
///
/// threshold   absolute, of any result under this contract and into its output
double threshold_of_result(const Contract& contract, double threshold, double result);

/// The same of the sum of all values of a row: `values` of them, `zeros` of which are 0.
double threshold_of_sum(const Contract& contract, double threshold, std::uint64_t values, std::uint64_t zeros);

/// The most by which a result may lie off its exact value.
///
/// lower, upper   of the exact value
double most_granted(const Contract& contract, double threshold, double lower, double upper);
/// The same where the threshold of a result of 0 and that of any other one are known.
double most_granted(double of_zero, double of_others, double lower, double upper);

}  // namespace softcheck::numerics
