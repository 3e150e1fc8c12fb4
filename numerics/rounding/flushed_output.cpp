#include "numerics/rounding/flushed_output.hpp"

#include <cmath>

#include "numerics/formats/next_double.hpp"
#include "numerics/rounding/rounding_operations.hpp"

namespace softcheck::numerics {

double flushing_excess(const Contract& contract) {
  if (contract.subnormals == Subnormals::kept || embeds(contract.accumulator, contract.output)) return 0;
  const FormatProperties& output = properties(contract.output);
  return output.smallest_normal - output.smallest_subnormal * 0.5;
}

double threshold_of_result(const Contract& contract, double threshold, double result) {
  const double excess = result == 0 ? 0 : flushing_excess(contract);
  return excess == 0 ? threshold : std::fmax(0, next_above(threshold - excess));
}

double threshold_of_sum(const Contract& contract, double threshold, std::uint64_t values, std::uint64_t zeros) {
  const double excess = flushing_excess(contract);
  if (excess == 0) return threshold;
  // As under a contract that keeps subnormals, plus N for each value that may have been flushed. Both products round
  // towards the larger threshold.
  const double kept = next_above(threshold - next_below(static_cast<double>(values) * excess));
  const double lost = next_above(static_cast<double>(zeros) * properties(contract.output).smallest_normal);
  return std::fmax(0, kept) + (zeros == 0 ? 0 : next_above(lost));
}

double most_granted(const Contract& contract, double threshold, double lower, double upper) {
  if (flushing_excess(contract) == 0) return threshold;
  return most_granted(threshold, threshold_of_result(contract, threshold, 1), lower, upper);
}

double most_granted(double of_zero, double of_others, double lower, double upper) {
  const double least = lower > 0 ? lower : upper < 0 ? -upper : 0;
  // A result of 0 errs by the value itself, which is either within the threshold or not.
  return least > of_zero ? of_others : std::fmax(of_others, std::fmin(of_zero, std::fmax(-lower, upper)));
}

}  // namespace softcheck::numerics
