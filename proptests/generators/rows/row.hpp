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

/// `count` equal neighbouring items.
struct Run {
  double value = 0;         // a logit: finite, or -inf for masked items
  std::uint64_t count = 1;  // >= 1

  /// Compares the values' bits: -0 differs from 0.
  friend bool operator==(const Run& a, const Run& b) {
    return std::bit_cast<std::uint64_t>(a.value) == std::bit_cast<std::uint64_t>(b.value) && a.count == b.count;
  }
};

/// A row of logits as runs: a million items are as cheap to write, shrink and enclose as three.
class RunLengthRow {
 public:
  RunLengthRow() = default;
  /// Merges neighbouring runs with equal bits.
  /// throws   std::invalid_argument if a count is 0 or a value is NaN or +inf
  explicit RunLengthRow(std::vector<Run> runs);
  /// The runs of an expanded row.
  static RunLengthRow of(std::span<const double> logits);

  const std::vector<Run>& runs() const { return runs_; }
  std::uint64_t size() const;     // logits
  std::uint64_t visible() const;  // logits that are not -inf
  /// The logits as a flat vector.
  std::vector<double> expand() const;
  /// Over the visible items; -inf and +inf if there are none.
  double maximum() const;
  double minimum() const;
  /// maximum() - minimum(), rounded to nearest; +inf if it overflows, 0 without visible items.
  double spread() const;

  friend bool operator==(const RunLengthRow&, const RunLengthRow&) = default;

 private:
  std::vector<Run> runs_;
};

/// Kinds of rows. row_families.cpp draws them.
enum class RowFamily {
  ramp_up,     // equally spaced, ascending: an online maximum rescales at every step
  ramp_down,   // descending: it never rescales
  one_hot,     // one item above a plateau
  plateau,     // all items equal
  ties,        // two to four levels, the largest several times
  late_peak,   // the maximum near the end of a noisy row
  wide,        // magnitudes over the whole range of the format
  near_equal,  // neighbouring numbers of the format
  shifted,     // a narrow row around +-2^k, k up to 16
  subnormal,   // multiples of the smallest number of the format
  masked,      // another family with -inf items
  normal,      // independent normal logits, at scales 2^-4 to 2^6
  sharp,       // one item so far above the others that softmax is max only
  dispersing,  // n >= 2^16 if allowed, a spread of a few nats: all coefficients small
  resolution,  // one item, and many whose distance is at the resolution of the sum, its logarithm or an exponential
  far_mass,    // most of the sum lies far from the maximum
  rising,      // maxima that rise by one number of the format at a time
  full_sum,    // equal items, as many as a sum in a 16-bit format can hold, and one more or fewer
  two_levels,  // two levels whose sum crosses a power of two
};

/// The first fourteen: for claims about rows.
std::span<const RowFamily> all_row_families();
/// These and the families that distinguish kernels: for judging kernels.
std::span<const RowFamily> kernel_row_families();
const char* to_string(RowFamily family);

/// Restricts the rows that a property draws. The defaults allow every row.
struct RowOptions {
  std::vector<numerics::Format> formats{numerics::all_formats().begin(), numerics::all_formats().end()};
  std::vector<RowFamily> families;  // empty: all
  std::uint64_t min_length = 1;
  std::uint64_t max_length = std::uint64_t{1} << 20;
  std::uint64_t max_edge_length = 0;  // longest row of the families resolution and far_mass, if larger
  std::uint64_t max_literal = 1024;   // longest row with independent items; longer rows have at most 64 runs
  bool masks = true;                  // some items may be -inf
  bool fully_masked = false;          // all items may be -inf
  double max_spread = std::numeric_limits<double>::infinity();     // largest minus smallest visible logit
  double max_deviation = std::numeric_limits<double>::infinity();  // the spread divided by theta
  int theta_exponent = 60;            // theta in [2^-e, 2^e], e <= 1000; 0: theta is always 1
  Domain domain;                      // of the kernels: limits n and theta, and whether logits may be -inf
  std::uint64_t auxiliaries = 0;      // the bits that RowCase::auxiliary may have; 0 if there are no other inputs
  std::uint64_t auxiliaries_set = 0;  // the bits that it must have
};

/// A row of numbers in one format, and a temperature.
struct RowCase {
  RunLengthRow row;
  double theta = 1;
  numerics::Format format = numerics::Format::f64;  // format of every logit
  std::string family;                               // how it was drawn; not part of its text
  /// An op derives its other inputs from this number and the logits (RowOp::input_values); 0 is the simplest.
  std::uint64_t auxiliary = 0;

  friend bool operator==(const RowCase& a, const RowCase& b) {
    return a.row == b.row && a.theta == b.theta && a.format == b.format && a.auxiliary == b.auxiliary;
  }
};

/// The row cut off, or with a longer last run.
RunLengthRow resized(const RunLengthRow& row, std::uint64_t length);
/// The row divided by a power of two, so that its logits lie within the domain's bounds.
RunLengthRow bounded(RunLengthRow row, const Domain& domain, double theta, numerics::Format format);
/// Adapts the case to the options' domain: n to the nearest allowed length, theta to 1, -inf to the lowest logit.
RowCase conformed(const RowOptions& options, RowCase row_case);

/// Does it have all required bits, and only allowed ones?
bool admits_auxiliary(const RowOptions& options, std::uint64_t auxiliary);

/// Does the case satisfy the options, and are its logits in the format? True for every drawn or shrunk case.
bool admits(const RowOptions& options, const RowCase& row_case);

/// Rows of all families with equal probability and log-uniform sizes up to what RapidCheck's size allows; one in
/// sixteen is long at any size if the options allow it. theta is 1 in three of eight cases, else a power of two, a
/// number with 53 bits, one with few bits or of f32 in [0.1, 10], or an end of its range.
///
/// throws   std::invalid_argument if no row can satisfy the options
rc::Gen<RowCase> row_cases(const RowOptions& options = {});

/// Simpler cases within the options, simplest first: theta = 1, runs dropped by halves, counts to 1, runs merged,
/// values rounded, zeroed and moved towards 0.
rc::Seq<RowCase> shrink_row_case(const RowCase& row_case, const RowOptions& options = {});

/// Formats and parses " 0x1.8p+1*3 -inf*2 0x0p+0".
/// throws   std::invalid_argument
std::string runs_text(const RunLengthRow& row);
RunLengthRow parse_runs(std::span<const std::string_view> words, numerics::Format format);
/// Parses "theta=T" with T positive and finite; throws std::invalid_argument otherwise.
double parse_theta(std::string_view word);

/// Formats and parses " beside=3", empty for 0; at most most_auxiliary + domain_bits.
inline constexpr std::uint64_t most_auxiliary = 0xffff;  // of those that are drawn
/// Set by the domain's word of an op, never drawn: no row's label is the ignored one; empty parts of a merge are zeros.
inline constexpr std::uint64_t domain_bit = most_auxiliary + 1;
/// It, and 27 more whose meaning is the op's.
inline constexpr std::uint64_t domain_bits = 0xfffffff * domain_bit;
std::string auxiliary_text(std::uint64_t auxiliary);
std::uint64_t parse_auxiliary(std::string_view word);
/// RowCase::auxiliary of row r of a matrix with this number. The period is 105, no power of two, with distinct numbers
/// in each period, so that a kernel that reads another row's inputs is found; 0 for all rows if the number is 0. The
/// bits that belong to the call, the low six and domain_bits, are the same for all rows.
std::uint64_t auxiliary_of_row(std::uint64_t auxiliary, std::uint64_t row);
/// Simpler numbers to try: 0, then others below it.
std::vector<std::uint64_t> simpler_auxiliaries(std::uint64_t auxiliary);

/// "row f32 theta=0x1p+0 beside=3 0x1.8p+1*3 -inf*2 0x0p+0"; " beside=0" is omitted.
std::string to_text(const RowCase& row_case);
void from_text(std::string_view text, RowCase& row_case);
std::size_t size_of(const RowCase& row_case);
void showValue(const RowCase& row_case, std::ostream& stream);

/// The rows of a matrix: row r is cycle[r % cycle.size()]. 65,536 rows are as cheap to write, shrink and judge as
/// three.
class RowCycle {
 public:
  RowCycle() = default;
  /// Each row once.
  RowCycle(std::vector<RunLengthRow> rows)  // NOLINT: a list of rows reads as a matrix
      : cycle_(std::move(rows)), size_(cycle_.size()) {}
  RowCycle(std::initializer_list<RunLengthRow> rows) : RowCycle(std::vector<RunLengthRow>(rows)) {}
  /// `size` rows in all; drops rows of the cycle that are never reached.
  /// throws   std::invalid_argument if size > 0 but the cycle is empty
  RowCycle(std::vector<RunLengthRow> cycle, std::uint64_t size);

  std::size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  const RunLengthRow& operator[](std::size_t r) const { return cycle_[r % cycle_.size()]; }
  const RunLengthRow& back() const { return (*this)[size_ - 1]; }
  /// The first row that repeats as row r.
  std::size_t first_like(std::size_t r) const { return r % cycle_.size(); }
  /// The rows of one period.
  const std::vector<RunLengthRow>& cycle() const { return cycle_; }
  bool repeats() const { return size_ > cycle_.size(); }

  /// Replaces each row by change(row).
  template <class Change>
  void replace_each(Change change) {
    for (RunLengthRow& row : cycle_) row = change(row);
  }
  /// Replaces row r; the rows must not repeat.
  void replace(std::size_t r, RunLengthRow row) { cycle_[r] = std::move(row); }

  friend bool operator==(const RowCycle&, const RowCycle&) = default;

 private:
  std::vector<RunLengthRow> cycle_;
  std::uint64_t size_ = 0;
};

}  // namespace softcheck::proptests
