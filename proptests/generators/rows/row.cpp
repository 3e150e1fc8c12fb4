#include "proptests/generators/rows/row.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <ostream>
#include <stdexcept>
#include <string>

#include "numerics/enclosures/certificate.hpp"
#include "numerics/formats/special_values.hpp"
#include "proptests/generators/text/case_text.hpp"

namespace softcheck::proptests {
namespace {

using numerics::infinity;

}  // namespace

RunLengthRow::RunLengthRow(std::vector<Run> runs) {
  runs_.reserve(runs.size());
  for (const Run& run : runs) {
    if (run.count == 0 || std::isnan(run.value) || run.value == infinity) {
      throw std::invalid_argument("RunLengthRow: a run needs a count >= 1 and a value that is finite or -inf, got " +
                                  numerics::hex_float(run.value) + "*" + std::to_string(run.count));
    }
    if (!runs_.empty() && same_bits(runs_.back().value, run.value)) {
      runs_.back().count += run.count;
    } else {
      runs_.push_back(run);
    }
  }
}

RunLengthRow RunLengthRow::of(std::span<const double> logits) {
  std::vector<Run> runs;
  for (double logit : logits) runs.push_back({logit, 1});
  return RunLengthRow(std::move(runs));
}

std::uint64_t RunLengthRow::size() const {
  std::uint64_t size = 0;
  for (const Run& run : runs_) size += run.count;
  return size;
}

std::uint64_t RunLengthRow::visible() const {
  std::uint64_t visible = 0;
  for (const Run& run : runs_) visible += run.value == -infinity ? 0 : run.count;
  return visible;
}

std::vector<double> RunLengthRow::expand() const {
  std::vector<double> logits;
  logits.reserve(size());
  for (const Run& run : runs_) logits.insert(logits.end(), run.count, run.value);
  return logits;
}

double RunLengthRow::maximum() const {
  double maximum = -infinity;
  for (const Run& run : runs_) maximum = std::max(maximum, run.value);
  return maximum;
}

double RunLengthRow::minimum() const {
  double minimum = infinity;
  for (const Run& run : runs_) {
    if (run.value != -infinity) minimum = std::min(minimum, run.value);
  }
  return minimum;
}

double RunLengthRow::spread() const { return visible() == 0 ? 0 : maximum() - minimum(); }

namespace {

// In the order of RowFamily.
constexpr std::array family_names{"ramp_up",   "ramp_down", "one_hot",    "plateau",    "ties",
                                  "late_peak", "wide",      "near_equal", "shifted",    "subnormal",
                                  "masked",    "normal",    "sharp",      "dispersing", "resolution",
                                  "far_mass",  "rising",    "full_sum",   "two_levels"};

}  // namespace

const char* to_string(RowFamily family) { return family_names.at(static_cast<std::size_t>(family)); }

std::span<const RowFamily> all_row_families() { return kernel_row_families().first(14); }

std::span<const RowFamily> kernel_row_families() {
  static const auto families = [] {
    std::array<RowFamily, family_names.size()> all{};
    for (std::size_t i = 0; i < all.size(); ++i) all[i] = static_cast<RowFamily>(i);
    return all;
  }();
  return families;
}

bool admits_auxiliary(const RowOptions& options, std::uint64_t auxiliary) {
  return (auxiliary & ~(options.auxiliaries | options.auxiliaries_set)) == 0 &&
         (auxiliary & options.auxiliaries_set) == options.auxiliaries_set;
}

bool admits(const RowOptions& options, const RowCase& row_case) {
  const RunLengthRow& row = row_case.row;
  const std::uint64_t size = row.size();
  const std::uint64_t visible = row.visible();
  const double limit = std::ldexp(1.0, options.theta_exponent);
  if (size < options.min_length || size > std::max(options.max_length, options.max_edge_length)) return false;
  if (!admits_auxiliary(options, row_case.auxiliary)) return false;
  if (visible < size && !options.masks && !(visible == 0 && options.fully_masked)) return false;
  if (visible == 0 && size > 0 && !options.fully_masked) return false;
  if (!(row_case.theta >= 1 / limit && row_case.theta <= limit)) return false;
  const Domain& domain = options.domain;
  if (!domain.length("n").contains(size) || (domain.unit_theta && row_case.theta != 1)) return false;
  if (!domain.hides_by_infinity() && visible < size) return false;
  if (bounded(row, domain, row_case.theta, row_case.format) != row) return false;
  const double spread = row.spread();
  if (!(spread <= options.max_spread && spread / row_case.theta <= options.max_deviation)) return false;
  if (std::find(options.formats.begin(), options.formats.end(), row_case.format) == options.formats.end()) return false;
  return std::all_of(row.runs().begin(), row.runs().end(), [&](const Run& run) {
    return run.value == -infinity || same_bits(numerics::round_to(row_case.format, run.value), run.value);
  });
}

std::string runs_text(const RunLengthRow& row) {
  std::string text;
  for (const Run& run : row.runs()) {
    text += " " + numerics::hex_float(run.value);
    if (run.count != 1) text += "*" + std::to_string(run.count);
  }
  return text;
}

RunLengthRow parse_runs(std::span<const std::string_view> words, numerics::Format format) {
  std::vector<Run> runs;
  for (std::string_view word : words) {
    const std::size_t star = word.find('*');
    const double value = parse_number(word.substr(0, star));
    const std::uint64_t count =
        star == std::string_view::npos ? 1 : parse_count(word.substr(star + 1), 1, std::uint64_t{1} << 40);
    if (value != -infinity && !same_bits(numerics::round_to(format, value), value)) {
      throw std::invalid_argument("row case: " + std::string(word) + " is no number of " +
                                  std::string(numerics::properties(format).name));
    }
    runs.push_back({value, count});
  }
  return RunLengthRow(std::move(runs));
}

double parse_theta(std::string_view word) {
  const double theta = parse_number(value_of(word, "theta"));
  if (theta > 0 && theta < infinity) return theta;
  throw std::invalid_argument("row case: theta must be positive and finite, got " + std::string(word));
}

std::string auxiliary_text(std::uint64_t auxiliary) {
  return auxiliary == 0 ? "" : " beside=" + std::to_string(auxiliary);
}

std::uint64_t auxiliary_of_row(std::uint64_t auxiliary, std::uint64_t row) {
  constexpr std::uint64_t kinds = 64, seeds = (most_auxiliary + 1) / kinds;
  // No power of two is a multiple of 3, 5 or 7, so a kernel whose row number wraps at one reads other inputs.
  constexpr std::uint64_t period = 3 * 5 * 7;
  if (auxiliary == 0) return 0;
  return (auxiliary & domain_bits) + auxiliary % kinds + kinds * ((auxiliary / kinds + row % period) % seeds);
}

std::uint64_t parse_auxiliary(std::string_view word) {
  return parse_count(value_of(word, "beside"), 0, most_auxiliary | domain_bits);
}

std::string to_text(const RowCase& row_case) {
  return "row " + std::string(numerics::properties(row_case.format).name) +
         " theta=" + numerics::hex_float(row_case.theta) + auxiliary_text(row_case.auxiliary) + runs_text(row_case.row);
}

void from_text(std::string_view text, RowCase& row_case) {
  const std::vector<std::string_view> words = words_of(text);
  if (words.size() < 3 || words[0] != "row") {
    throw std::invalid_argument("row case: need \"row FORMAT theta=T VALUE*COUNT ...\", got \"" + std::string(text) +
                                "\"");
  }
  RowCase result;
  result.format = numerics::parse_format(words[1]);
  result.theta = parse_theta(words[2]);
  result.family = "text";
  const bool auxiliary = words.size() > 3 && words[3].starts_with("beside=");
  if (auxiliary) result.auxiliary = parse_auxiliary(words[3]);
  result.row = parse_runs(std::span(words).subspan(auxiliary ? 4 : 3), result.format);
  row_case = std::move(result);
}

std::size_t size_of(const RowCase& row_case) { return row_case.row.size(); }

void showValue(const RowCase& row_case, std::ostream& stream) { stream << to_text(row_case); }

RowCycle::RowCycle(std::vector<RunLengthRow> cycle, std::uint64_t size) : cycle_(std::move(cycle)), size_(size) {
  if (size > 0 && cycle_.empty()) {
    throw std::invalid_argument("RowCycle: need a row to repeat, got none for " + std::to_string(size) + " rows");
  }
  if (cycle_.size() > size) cycle_.resize(size);
}

}  // namespace softcheck::proptests
