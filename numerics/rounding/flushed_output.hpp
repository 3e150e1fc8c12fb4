#pragma once

#include <cstdint>

#include "numerics/rounding/contract.hpp"

/// What subnormal=flushed grants a result. Proof: theory/proofs/numerics/flushed_output.v, docs/tolerances.md, "The
/// model".
///
/// With a flushing contract, a threshold includes one loss by storing: N, the smallest normal number of the output's
/// format. A flushed result is 0. A nonzero result was stored as under a contract that keeps subnormal numbers, and
/// lost at most half of the smallest one.
namespace softcheck::numerics {

/// The excess of a threshold for a nonzero result: N minus half of the smallest subnormal number; 0 if the contract
/// does not flush, or the output has all numbers of the accumulator.
double flushing_excess(const Contract& contract);

/// The threshold for a given result.
///
/// threshold   absolute, for any result under this contract and in its output
double threshold_of_result(const Contract& contract, double threshold, double result);

/// The same for the sum of a row of `values` values, of which `zeros` are 0.
double threshold_of_sum(const Contract& contract, double threshold, std::uint64_t values, std::uint64_t zeros);

/// The largest error that any result may have.
///
/// lower, upper   of the exact value
double most_granted(const Contract& contract, double threshold, double lower, double upper);
/// The same from the thresholds of a result of 0 and of any other result.
double most_granted(double of_zero, double of_others, double lower, double upper);

}  // namespace softcheck::numerics
