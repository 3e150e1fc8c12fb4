#pragma once

#include <array>
#include <cstddef>

#include "numerics/filter/row_filter.hpp"

// What the two arithmetic stages of the cascade share besides vector code: constants of the a-priori analysis in
// docs/tolerances/cascade.md, and argument checks. Not for users of the cascade.
namespace softcheck::numerics::stages {

inline constexpr double unit = 0x1p-53;
// Weights at larger deviations count as zero: exp(-700) < 2^-1009, so no remaining weight is subnormal.
inline constexpr double largest_deviation = 700;
// Error of one element from weights that count as zero, and from results below the normal range.
inline constexpr double element_floor = 0x1p-1000;
// The same in the sums per item: of w, of w D and of w D^2.
inline constexpr double sum_floor = 0x1p-1008;
inline constexpr double deviation_floor = 0x1p-998;
inline constexpr double moment_floor = 0x1p-988;
// Number of vectors that a lane adds plainly before their sum joins a compensated total (or the other half of a pair).
inline constexpr std::size_t block_vectors = 16;
// Covers second-order terms and the roundings of the bounds themselves: no first-order sum exceeds 2^-41.
inline constexpr double inflation = 1 + 0x1p-30;

// Near-minimax for (exp(r) - 1 - r) / r^2 with its first coefficient fixed at 1/2, from Lawson's iteration.
inline constexpr std::array<double, 10> exponential_coefficients = {
    0x1.0000000000000p-1,  0x1.5555555555501p-3,  0x1.555555555320cp-5,  0x1.111111112897ep-7,  0x1.6c16c17cc13f6p-10,
    0x1.a01a011bc9864p-13, 0x1.a019ab342ffffp-16, 0x1.71df56123e609p-19, 0x1.289f831c7d797p-22, 0x1.ad1eb955690abp-26};

/// The tolerance and the bounds of a row in the form of the vector code.
struct JudgeParameters {
  double maximum, theta;
  double inverse_high, inverse_low;        // 1 / S
  double error_constant, error_deviation;  // relative error of p: constant + deviation * D
  double margin_constant;                  // the same for the low part of p when it is dropped
  double proof_constant;                   // error_constant + margin_constant
  double ulp_scale;                        // 2^(1 - precision) * ulps
  double smallest_normal;                  // of the tolerance's format
  double relative, per_deviation, absolute, flushed;
};

/// theta = mantissa / inverse_power, mantissa in [1, 2), inverse_power a power of two.
struct Temperature {
  double mantissa;
  double inverse_power;
};

JudgeParameters judge_parameters(const ElementTolerance& tolerance, double maximum, double theta);
/// The parameters of the filter.
JudgeParameters filter_parameters(const FilterStatistics& statistics, const ElementTolerance& tolerance);

void require_theta(const char* function, double theta);
void require_size(const char* function, std::size_t size);
void require_judgeable(const char* function, std::size_t size, std::size_t visible, std::size_t logits,
                       std::size_t got);

}  // namespace softcheck::numerics::stages
