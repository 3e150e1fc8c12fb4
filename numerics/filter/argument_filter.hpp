#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace softcheck::numerics {

/// What a kernel makes of a row of logits: each coefficient p, each ln p, the log-sum-exp, or the entropy in nats.
enum class ArgumentValue { coefficient, log_coefficient, logsumexp, entropy };

/// A threshold for the rows whose statistics are no less than some: |computed - value| <= constant + slope D + floor,
/// of coefficients (constant + slope D) p + floor. D is the item's deviation, 0 for a value of the whole row.
struct ArgumentThreshold {
  double constant = 0;
  double slope = 0;
  double floor = 0;
  double row_sum;  // of |sum of a row's values - 1|; infinite where nothing is promised of it
  // What |m / theta + ln S| and |m| / theta add, m the maximum, and ln S beyond that of the least row; of coefficients
  // nothing.
  double per_value = 0;
  double per_maximum = 0;
  double per_log_sum = 0;
};

/// Thresholds over the deviations of a row's smallest item: each entry's hold for all rows whose deviations lie in it.
/// Entry 0 is D = 0, entry 1 is 0 < D < 2^least_exponent, the last one is all from 2^most_exponent on, and each binade
/// between has entries_per_binade of equal width.
class ArgumentTable {
 public:
  static constexpr int least_exponent = -32, most_exponent = 10, entry_bits = 6;
  static constexpr std::size_t entries_per_binade = std::size_t{1} << entry_bits;
  static constexpr std::size_t entries = 3 + (most_exponent - least_exponent) * entries_per_binade;

  /// The two ends of an entry; the last one ends at the largest double.
  static double lower_end(std::size_t entry);
  static double upper_end(std::size_t entry);
  static std::size_t entry_of(double deviation);

  ArgumentTable();
  void set(std::size_t entry, const ArgumentThreshold& threshold);

  /// No more than the least part of its own threshold that another table grants any value: at most 1.
  double least_part(const ArgumentTable& other) const;

  // Column by column, for gathers.
  std::vector<double> constant, slope, floor, row_sum;
  double per_value = 0, per_maximum = 0, per_log_sum = 0;  // no more than those of any entry
};

/// Rows, or items of rows, side by side; all spans of the size of deviation, or empty.
///
/// deviation    >= 0, of the row's smallest item, or of the item
/// maximum      m; empty: 0
/// of_maximum   what the kernel returned for an item of the maximum, or for the whole row; empty: not asked
/// of_other     for the item of that deviation; empty: not asked
/// total        the sum of all values of the row; empty: that of the two where both are asked, else not asked
/// sum, log_sum, moment   S, ln S and sum w D / S; empty: those of a row of the maximum and this item alone
struct ArgumentRows {
  std::span<const double> deviation;
  std::span<const double> maximum = {}, of_maximum = {}, of_other = {}, total = {}, sum = {}, log_sum = {}, moment = {};
};

/// How far the quick values of rows may be off, in units of 2^-53.
struct ArgumentErrors {
  double relative = 0;       // of S, p and the moment
  double per_deviation = 0;  // the same, for each unit of D: 0 where D is exact
  double rounding = 0;       // of a value that is a sum, and of m / theta, relative
  double absolute = 0;       // of ln S, and of an entropy
};

/// How the thresholds are asked for.
struct ArgumentQuestion {
  ArgumentValue value = ArgumentValue::coefficient;
  double theta = 1;    // of the maximum, which is added to ln S
  int precision = 24;  // of the output's format: for ulps
  double smallest_normal = 0;
  ArgumentErrors errors;
};

/// What was found; of values that are proved alone.
struct ArgumentFindings {
  std::vector<std::size_t> open;  // not proved: to be judged by enclosures; ascending
  double largest_share = 0;       // no less than the part of its threshold that any value used
  std::size_t largest_at = 0;
  double row_sum_share = 0;
  double worst_ulps =
      0;  // |got - value| in units of the output's last place, where the threshold is less than the value
  double worst_allowed = 0;
  std::size_t worst_at = 0;
  double total_ulps = 0;   // of the signed errors
  std::uint64_t ulps = 0;  // how many
};

/// Which rows a double computation with a proved error shows to be within their thresholds, infinite, negative and -0
/// coefficients and entropies excepted: those are open. docs/kernels/exhaustive.md derives the errors.
ArgumentFindings judge_arguments(const ArgumentRows& rows, const ArgumentTable& table,
                                 const ArgumentQuestion& question);

/// exp(-D) for each; relative error (2 + |error of D|) 2^-53, 0 beyond 700.
void argument_weights(std::span<const double> deviation, std::span<double> weights);

/// How far those of rows of so many items are off.
///
/// roundings   that a deviation had: 0 where it is exact, one for a difference, one for a quotient
/// additions   the most that any weight passed through on its way into S, where there are more than two items
ArgumentErrors argument_errors(ArgumentValue value, int roundings, std::size_t items, double additions = 0);

}  // namespace softcheck::numerics
