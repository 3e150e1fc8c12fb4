#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <vector>

#include "numerics/formats/format.hpp"

namespace softcheck::numerics {

/// A double with a certified error bound: |value - exact| <= error.
struct Approximation {
  double value = 0;
  double error = 0;
};

/// The first stage of the cascade: the statistics of one row in double arithmetic, with bounds proved in
/// docs/tolerances/cascade.md. With m the maximum, D_i = (m - x_i) / theta and w_i = exp(-D_i) over the visible items:
/// S = sum w_i, T = sum w_i D_i, U = sum w_i D_i^2.
struct FilterStatistics {
  std::size_t size = 0;
  std::size_t visible = 0;  // items that are not -inf
  double theta = 1;
  double maximum = 0;  // exact; -inf if no item is visible: then the fields below are meaningless
  Approximation sum_minus_one;
  Approximation weighted_deviation;
  Approximation second_moment;
  double inverse_sum = 1;  // factor of computed weights
  // Relative error of a computed softmax value, above 2^-960: element_constant + element_per_deviation * D_i.
  double element_constant = 0;
  double element_per_deviation = 0;
};

/// The tolerance of |got_j - p_j|:
/// ulps * ulp(format, p_j) + (relative + per_deviation * D_j) * p_j + absolute, plus flushed if got_j is 0.
///
/// ulp(p) = 2^(max(floor(log2 p), min_exponent) - precision + 1): below the smallest normal number, at zero and for a
/// masked item it is the spacing of the subnormal numbers.
struct ElementTolerance {
  double ulps = 0;
  Format format = Format::f32;
  double relative = 0;
  double per_deviation = 0;
  double absolute = 0;
  double flushed = 0;

  static constexpr double largest_part = 0x1p200;  // the judges refuse larger numbers
  static ElementTolerance within_ulps(Format format, double ulps);
  static ElementTolerance within_relative(double relative, double per_deviation, double absolute, double flushed = 0);
};

/// The positions that a stage did not prove, ascending: those that violate the tolerance, and those for the next stage.
struct StageOutcome {
  std::vector<std::size_t> violated;
  std::vector<std::size_t> undecided;
};

/// p_j is in [lower, upper].
struct ProbabilityBounds {
  double lower = 0;
  double upper = 0;
};

/// Statistics of a row.
///
/// logits   (n) finite or -inf (masked), n <= 2^30
/// theta    in [2^-1000, 2^1000], in the unit of the logits
/// error    in the fields; for S relative about (22 + T / S) 2^-53, for any n
/// throws   std::invalid_argument if a logit is NaN or +inf, n or theta out of range
FilterStatistics filter_row(std::span<const float> logits, double theta = 1);
FilterStatistics filter_row(std::span<const double> logits, double theta = 1);

/// Enclosures of the softmax values of the statistics' row; [0, 0] for masked items.
/// throws   std::invalid_argument if the sizes differ or no item is visible
std::vector<ProbabilityBounds> filter_softmax(std::span<const double> logits, const FilterStatistics& statistics);

/// Judges a kernel's softmax values for a row: positions in neither list are proved. A NaN or infinite value is
/// violated.
///
/// got      (n), as many as logits
/// throws   std::invalid_argument if the sizes differ, no item is visible, or a part of the tolerance is not in [0,
///          ElementTolerance::largest_part]
StageOutcome filter_judge(std::span<const float> logits, const FilterStatistics& statistics, std::span<const float> got,
                          const ElementTolerance& tolerance);
StageOutcome filter_judge(std::span<const float> logits, const FilterStatistics& statistics,
                          std::span<const double> got, const ElementTolerance& tolerance);
StageOutcome filter_judge(std::span<const double> logits, const FilterStatistics& statistics,
                          std::span<const float> got, const ElementTolerance& tolerance);
StageOutcome filter_judge(std::span<const double> logits, const FilterStatistics& statistics,
                          std::span<const double> got, const ElementTolerance& tolerance);

/// Coefficients of r^2 ... r^11 of the filter's polynomial 1 + r + r^2 (c_0 + c_1 r + ...) for exp(r).
const std::array<double, 10>& filter_exponential_coefficients();
/// |r| is below this after the argument reduction.
inline constexpr double filter_reduced_range = 0.34658;
/// Relative truncation error of the polynomial in that range; a test proves it by enclosures.
inline constexpr double filter_truncation_bound = 0x1p-57;

}  // namespace softcheck::numerics
