#pragma once

#include <bit>
#include <cstdint>
#include <iosfwd>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "numerics/formats/format.hpp"
#include "proptests/engine/rapidcheck_types.hpp"
#include "proptests/generators/domains/domain.hpp"

namespace softcheck::proptests {

/// count equal neighbours in a row.
struct Run {
  double value = 0;         // a logit: finite, or -inf for masked items
  std::uint64_t count = 1;  // >= 1

  /// By the value's bits: -0 is not 0.
  friend bool operator==(const Run& a, const Run& b) {
    return std::bit_cast<std::uint64_t>(a.value) == std::bit_cast<std::uint64_t>(b.value) && a.count == b.count;
  }
};

/// A row of logits as runs: a million items are as short to write, to shrink and to enclose as three.
class RunLengthRow {
 public:
  RunLengthRow() = default;
  /// Neighbouring runs of the same value (by its bits) become one.
  /// throws   std::invalid_argument when a count is 0 or a value is NaN or +inf
  explicit RunLengthRow(std::vector<Run> runs);
  /// The runs of a row written out.
  static RunLengthRow of(std::span<const double> logits);

  const std::vector<Run>& runs() const { return runs_; }
  std::uint64_t size() const;     // logits
  std::uint64_t visible() const;  // logits that are not -inf
  /// The logits, one by one.
  std::vector<double> expand() const;
  /// Over the visible items; -inf and +inf where there are none.
  double maximum() const;
  double minimum() const;
  /// maximum() - minimum(), rounded to nearest; +inf where it overflows, 0 where nothing is visible.
  double spread() const;

  friend bool operator==(const RunLengthRow&, const RunLengthRow&) = default;

 private:
  std::vector<Run> runs_;
};

/// The rows that matter. See row_families.cpp for what each draws.
enum class RowFamily {
  ramp_up,     // equally spaced, ascending: an online maximum rescales at every step
  ramp_down,   // descending: it never does
  one_hot,     // one item above a plateau
  plateau,     // all items equal
  ties,        // two to four levels, the largest several times
  late_peak,   // the maximum near the end of a noisy row
  wide,        // magnitudes over the whole range of the format
  near_equal,  // neighbouring numbers of the format
  shifted,     // a narrow row about +-2^k, k up to 16
  subnormal,   // multiples of the smallest number of the format
  masked,      // another family with -inf items
  normal,      // independent normal logits, at scales 2^-4 to 2^6
  sharp,       // one item so far above the rest that softmax is max only
  dispersing,  // n >= 2^16 where allowed, spread of a few nats: all coefficients small
  resolution,  // one item, and very many about as far below it as the sum, its logarithm or an exponential can tell
  far_mass,    // most of the sum stands far from the maximum
  rising,      // maxima that rise from one number of the format to the next
  full_sum,    // equal items, as many as a sum in a 16-bit format holds, and one more or fewer
  two_levels,  // two levels whose sum crosses a power of two
};

/// The first fourteen: what claims about rows are decided on.
std::span<const RowFamily> all_row_families();
/// Those, and the ones that tell kernels apart: what kernels are judged on.
std::span<const RowFamily> kernel_row_families();
const char* to_string(RowFamily family);

/// What rows a property needs. The defaults allow every row.
struct RowOptions {
  std::vector<numerics::Format> formats{numerics::all_formats().begin(), numerics::all_formats().end()};
  std::vector<RowFamily> families;  // empty: all
  std::uint64_t min_length = 1;
  std::uint64_t max_length = std::uint64_t{1} << 20;
  std::uint64_t max_edge_length = 0;  // longest of the families resolution and far_mass, where it is more
  std::uint64_t max_literal = 1024;   // longest row whose items are all drawn apart; longer ones have at most 64 runs
  bool masks = true;                  // some items may be -inf
  bool fully_masked = false;          // all may be
  double max_spread = std::numeric_limits<double>::infinity();     // largest - smallest visible logit
  double max_deviation = std::numeric_limits<double>::infinity();  // that divided by theta
  int theta_exponent = 60;                                         // theta in [2^-e, 2^e], <= 1000; 0: theta = 1 always
  Domain domain;                  // of the kernels that the rows are for: n, theta and whether -inf may be a logit
  std::uint64_t auxiliaries = 0;  // the bits that RowCase::auxiliary may have; 0 where nothing stands beside the logits
  std::uint64_t auxiliaries_set = 0;  // of these the bits that it has
};

/// A row of numbers of one format, and a temperature.
struct RowCase {
  RunLengthRow row;
  double theta = 1;
  numerics::Format format = numerics::Format::f64;  // every logit is one of its numbers
  std::string family;                               // how it was drawn; no part of its text
  /// From this number and the logits an op makes its other inputs (RowOp::input_values); 0 is the simplest.
  std::uint64_t auxiliary = 0;

  friend bool operator==(const RowCase& a, const RowCase& b) {
    return a.row == b.row && a.theta == b.theta && a.format == b.format && a.auxiliary == b.auxiliary;
  }
};

/// The row cut off, or its last run made longer.
RunLengthRow resized(const RunLengthRow& row, std::uint64_t length);
/// The case made to keep to the options' domain: n to the nearest length that is in it, theta 1, the lowest logit for
/// -inf.
RowCase conformed(const RowOptions& options, RowCase row_case);

/// Has RowCase::auxiliary the bits that it must have, and none that it may not?
bool admits_beside(const RowOptions& options, std::uint64_t auxiliary);

/// Does the case keep to the options, its logits to their format? Every drawn and every shrunk case does.
bool admits(const RowOptions& options, const RowCase& row_case);

/// Rows of all families alike, sizes log-distributed up to what RapidCheck's size allows; one in sixteen is long at any
/// size where the options let it. theta is 1 three times in eight, then a power of two, a number of 53 bits, one of few
/// bits or of f32 in [0.1, 10], or an extreme of its range.
///
/// throws   std::invalid_argument when no row can keep to the options
rc::Gen<RowCase> row_cases(const RowOptions& options = {});

/// Simpler cases that keep to the options, simplest first: theta = 1, runs dropped by halves, counts to 1, runs merged,
/// values rounded, zeroed and moved towards 0.
rc::Seq<RowCase> shrink_row_case(const RowCase& row_case, const RowOptions& options = {});

/// " 0x1.8p+1*3 -inf*2 0x0p+0", and back.
/// throws   std::invalid_argument
std::string runs_text(const RunLengthRow& row);
RunLengthRow parse_runs(std::span<const std::string_view> words, numerics::Format format);
/// Of "theta=T", T positive and finite; throws std::invalid_argument otherwise.
double parse_theta(std::string_view word);

/// " beside=3", nothing for 0; and back, at most most_auxiliary.
inline constexpr std::uint64_t most_auxiliary = 0xffff;
std::string auxiliary_text(std::uint64_t auxiliary);
std::uint64_t parse_auxiliary(std::string_view word);
/// RowCase::auxiliary of row r of a matrix with this number: another one for each of 105 rows, no power of two, then
/// these again, so that reading another row's inputs shows; 0 for all of 0. The low six bits, the call's, are the same.
std::uint64_t auxiliary_of_row(std::uint64_t auxiliary, std::uint64_t row);
/// The next simpler ones: 0, then others less than it.
std::vector<std::uint64_t> simpler_auxiliaries(std::uint64_t auxiliary);

/// "row f32 theta=0x1p+0 beside=3 0x1.8p+1*3 -inf*2 0x0p+0"; a beside of 0 is left out.
std::string to_text(const RowCase& row_case);
void from_text(std::string_view text, RowCase& row_case);
std::size_t size_of(const RowCase& row_case);
void showValue(const RowCase& row_case, std::ostream& stream);

/// The rows of a matrix: a few that stand in turn, row r being cycle[r % cycle.size()]. 65,536 rows are as short to
/// write, to shrink and to judge as three: what a kernel returns for a row it returns for each that repeats it.
class RowCycle {
 public:
  RowCycle() = default;
  /// Each row once.
  RowCycle(std::vector<RunLengthRow> rows)  // NOLINT: a list of rows reads as a matrix
      : cycle_(std::move(rows)), size_(cycle_.size()) {}
  RowCycle(std::initializer_list<RunLengthRow> rows) : RowCycle(std::vector<RunLengthRow>(rows)) {}
  /// So many rows in all; those of the cycle that are not reached are dropped.
  /// throws   std::invalid_argument when there are rows but no cycle
  RowCycle(std::vector<RunLengthRow> cycle, std::uint64_t size);

  std::size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  const RunLengthRow& operator[](std::size_t r) const { return cycle_[r % cycle_.size()]; }
  const RunLengthRow& back() const { return (*this)[size_ - 1]; }
  /// The first row with the logits of row r.
  std::size_t first_like(std::size_t r) const { return r % cycle_.size(); }
  /// The rows that stand in turn.
  const std::vector<RunLengthRow>& cycle() const { return cycle_; }
  bool repeats() const { return size_ > cycle_.size(); }

  /// Puts change(row) in each row's place.
  template <class Change>
  void replace_each(Change change) {
    for (RunLengthRow& row : cycle_) row = change(row);
  }
  /// Row r alone; it must not repeat.
  void replace(std::size_t r, RunLengthRow row) { cycle_[r] = std::move(row); }

  friend bool operator==(const RowCycle&, const RowCycle&) = default;

 private:
  std::vector<RunLengthRow> cycle_;
  std::uint64_t size_ = 0;
};

}  // namespace softcheck::proptests
