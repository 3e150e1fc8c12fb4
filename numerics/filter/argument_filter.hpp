#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace softcheck::numerics {

/// A kernel's results for a row of logits: each coefficient p, each ln p, the log-sum-exp, or the entropy in nats.
enum class ArgumentValue { coefficient, log_coefficient, logsumexp, entropy };

/// A threshold for all rows whose statistics are at least certain ones: |computed - value| <= constant + slope D +
/// floor, for coefficients (constant + slope D) p + floor. D is the item's deviation, 0 for a value of the whole row.
struct ArgumentThreshold {
  double constant = 0;
  double slope = 0;
  double floor = 0;
  double row_sum;  // of |sum of a row's values - 1|; infinite if nothing is promised
  // The increase per unit of |m / theta + ln S|, of |m| / theta, and of ln S beyond that of the smallest row; 0 for
  // coefficients.
  double per_value = 0;
  double per_maximum = 0;
  double per_log_sum = 0;
};

/// Thresholds by the deviation of a row's smallest item: each entry's hold for all rows with a deviation in its range.
/// Entry 0 is D = 0, entry 1 is 0 < D < 2^least_exponent, the last one is D >= 2^most_exponent, and each binade in
/// between has entries_per_binade entries of equal width.
class ArgumentTable {
 public:
  static constexpr int least_exponent = -32, most_exponent = 10, entry_bits = 6;
  static constexpr std::size_t entries_per_binade = std::size_t{1} << entry_bits;
  static constexpr std::size_t entries = 3 + (most_exponent - least_exponent) * entries_per_binade;

  /// The ends of an entry's range; the last one ends at the largest double.
  static double lower_end(std::size_t entry);
  static double upper_end(std::size_t entry);
  static std::size_t entry_of(double deviation);

  ArgumentTable();
  void set(std::size_t entry, const ArgumentThreshold& threshold);

  /// A lower bound, at most 1, of the share of its own thresholds that the other table grants.
  double least_part(const ArgumentTable& other) const;

  // By column, for gathers.
  std::vector<double> constant, slope, floor, row_sum;
  double per_value = 0, per_maximum = 0, per_log_sum = 0;  // at most those of any entry
};

/// Rows, or items of rows, in parallel spans of deviation's size, or empty.
///
/// deviation    >= 0, of the row's smallest item, or of the item
/// maximum      m; empty: 0
/// of_maximum   the kernel's result for an item at the maximum, or for the whole row; empty: not tested
/// of_other     for the item with that deviation; empty: not tested
/// total        the sum of the row's values; empty: of the two items if both are tested, else not tested
/// sum, log_sum, moment   S, ln S and sum w D / S; empty: those of a row of the maximum and this item
struct ArgumentRows {
  std::span<const double> deviation;
  std::span<const double> maximum = {}, of_maximum = {}, of_other = {}, total = {}, sum = {}, log_sum = {}, moment = {};
};

/// Errors of the quick values of rows, in units of 2^-53.
struct ArgumentErrors {
  double relative = 0;       // of S, p and the moment
  double per_deviation = 0;  // the same per unit of D; 0 if D is exact
  double rounding = 0;       // relative, of a value that is a sum, and of m / theta
  double absolute = 0;       // of ln S and of an entropy
};

/// Which values to compare with the thresholds.
struct ArgumentQuestion {
  ArgumentValue value = ArgumentValue::coefficient;
  double theta = 1;    // divides the maximum, which is added to ln S
  int precision = 24;  // of the output's format, for ulps
  double smallest_normal = 0;
  ArgumentErrors errors;
};

/// Findings, only about proved values.
struct ArgumentFindings {
  std::vector<std::size_t> open;  // not proved, left to enclosures; ascending
  double largest_share = 0;       // an upper bound of the share of its threshold that any value used
  std::size_t largest_at = 0;
  double row_sum_share = 0;
  double worst_ulps = 0;  // |got - value| in ulps of the output, of values larger than their threshold
  double worst_allowed = 0;
  std::size_t worst_at = 0;
  double total_ulps = 0;   // sum of the signed errors
  std::uint64_t ulps = 0;  // number of values
};

/// Proves rows within their thresholds by a double computation with a proved error. Infinite, negative and -0
/// coefficients and entropies stay open. docs/kernels/exhaustive.md derives the errors.
ArgumentFindings judge_arguments(const ArgumentRows& rows, const ArgumentTable& table,
                                 const ArgumentQuestion& question);

/// exp(-D) for each D; relative error (2 + |error of D|) 2^-53, 0 beyond 700.
void argument_weights(std::span<const double> deviation, std::span<double> weights);

/// The errors for rows of this many items.
///
/// roundings   of a deviation: 0 if it is exact, one for a difference, one for a quotient
/// additions   the most on any weight's path into S, with more than two items
ArgumentErrors argument_errors(ArgumentValue value, int roundings, std::size_t items, double additions = 0);

}  // namespace softcheck::numerics
