#include "judge/exhaustive/enumeration.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

#include "judge/ops/rows/row_op.hpp"
#include "numerics/enclosures/certificate.hpp"
#include "numerics/formats/format.hpp"

namespace softcheck::proptests {

using namespace numerics;

namespace {

// Logits per call: few enough for a core's cache, enough to make the cost of a call negligible.
constexpr std::size_t logits_of_call = std::size_t{1} << 15;
// The number of arguments -x: all finite f32 numbers of one sign, including zero.
constexpr std::uint64_t f32_arguments = 0x7f80'0000;
// A temperature that f32 cannot represent.
constexpr double odd_theta = 0.7;

float negated(std::uint64_t bits) { return std::bit_cast<float>(static_cast<std::uint32_t>(bits) | 0x8000'0000u); }

// Writes f32 numbers in the logits' format.
class Writer {
 public:
  Writer(Format format, std::span<std::byte> bytes) : wide_(format == Format::f64), to_(bytes.data()) {}
  void put(float value) {
    if (wide_) {
      const double number = value;
      std::memcpy(to_, &number, sizeof number);
      to_ += sizeof number;
    } else {
      std::memcpy(to_, &value, sizeof value);
      to_ += sizeof value;
    }
  }

 private:
  bool wide_;
  std::byte* to_;
};

std::string theta_text(double theta) { return theta == 1 ? "theta = 1" : "theta = " + hex_float(theta); }

// Rows with a maximum of 0 and arguments from a range of bits: -0 and the negative f32 numbers.
class Arguments final : public Enumeration {
 public:
  Arguments(Format format, const RowShape& shape, std::uint64_t first, std::uint64_t last, std::string said)
      : format_(format), shape_(shape), first_(first), last_(last), said_(std::move(said)) {}

  std::string name() const override {
    return said_ + ", n = " + std::to_string(shape_.columns) +
           (shape_.columns == 2    ? ""
            : shape_.maximum_first ? ", the maximum first"
                                   : ", the maximum last") +
           ", " + theta_text(shape_.theta);
  }
  bool is_measured() const override { return shape_.kind == RowKind::pairs; }
  std::uint64_t blocks() const override { return (all_rows() + rows_of_block() - 1) / rows_of_block(); }
  RowShape shape(std::uint64_t) const override { return shape_; }
  std::size_t rows(std::uint64_t block) const override {
    return static_cast<std::size_t>(std::min<std::uint64_t>(rows_of_block(), all_rows() - block * rows_of_block()));
  }
  void fill(std::uint64_t block, std::span<std::byte> logits) const override {
    Writer writer(format_, logits);
    const std::size_t each = shape_.columns - 1;
    std::uint64_t bits = first_ + block * rows_of_block() * each;
    for (std::size_t r = rows(block); r > 0; --r) {
      if (shape_.maximum_first) writer.put(0);
      // Repeat the last number to fill the last row.
      for (std::size_t k = 0; k < each; ++k) writer.put(negated(std::min(bits++, last_ - 1)));
      if (!shape_.maximum_first) writer.put(0);
    }
  }
  double argument(std::uint64_t block) const override {
    return -static_cast<double>(negated(first_ + block * rows_of_block() * (shape_.columns - 1)));
  }

 private:
  std::uint64_t all_rows() const { return (last_ - first_ + shape_.columns - 2) / (shape_.columns - 1); }
  std::uint64_t rows_of_block() const { return std::max<std::uint64_t>(1, logits_of_call / shape_.columns); }

  Format format_;
  RowShape shape_;
  std::uint64_t first_, last_;
  std::string said_;
};

// Rows of k equal logits and a smaller one: for each f32 number S in (k, k + 1] the f32 number whose exponential is
// nearest to S - k.
class Sums final : public Enumeration {
 public:
  /// counts   the values of k, ascending
  Sums(Format format, std::vector<std::uint64_t> counts, std::string said)
      : format_(format), counts_(std::move(counts)), said_(std::move(said)) {
    for (const std::uint64_t count : counts_) {
      begin_.push_back(blocks_);
      blocks_ += (sums_of(count) + rows_of(count) - 1) / rows_of(count);
    }
  }

  std::string name() const override { return said_; }
  std::uint64_t blocks() const override { return blocks_; }
  RowShape shape(std::uint64_t block) const override {
    return {RowKind::odd_one, static_cast<std::size_t>(count_of(block) + 1), 1, true};
  }
  std::size_t rows(std::uint64_t block) const override {
    const std::uint64_t count = count_of(block);
    return static_cast<std::size_t>(std::min(rows_of(count), sums_of(count) - before(block)));
  }
  void fill(std::uint64_t block, std::span<std::byte> logits) const override {
    Writer writer(format_, logits);
    const std::uint64_t count = count_of(block), first = before(block), sums = sums_of(count);
    for (std::uint64_t r = 0; r < rows(block); ++r) {
      for (std::uint64_t k = 0; k < count; ++k) writer.put(0);
      const double part = static_cast<double>(first + r + 1) / static_cast<double>(sums);
      writer.put(static_cast<float>(std::log(part)));
    }
  }

 private:
  static std::uint64_t sums_of(std::uint64_t count) {
    return std::uint64_t{1} << (23 - std::min(23, static_cast<int>(std::bit_width(count)) - 1));
  }
  static std::uint64_t rows_of(std::uint64_t count) { return std::max<std::uint64_t>(1, logits_of_call / (count + 1)); }
  std::size_t place_of(std::uint64_t block) const {
    return static_cast<std::size_t>(std::ranges::upper_bound(begin_, block) - begin_.begin()) - 1;
  }
  std::uint64_t count_of(std::uint64_t block) const { return counts_[place_of(block)]; }
  std::uint64_t before(std::uint64_t block) const {
    return (block - begin_[place_of(block)]) * rows_of(count_of(block));
  }

  Format format_;
  std::vector<std::uint64_t> counts_, begin_;
  std::uint64_t blocks_ = 0;
  std::string said_;
};

// All rows of two or three bit patterns of a format, in ascending order.
class Tuples final : public Enumeration {
 public:
  /// first, last   range of the first item's patterns
  Tuples(Format format, std::size_t columns, std::uint64_t first, std::uint64_t last, const Domain& domain)
      : format_(format),
        columns_(columns),
        first_(first),
        last_(last),
        nans_(!domain.finite),
        infinities_(!domain.hides_finite_numbers()) {}

  std::string name() const override {
    const std::string what = columns_ == 2 ? "pair" : "triple", format(properties(format_).name);
    return "every " + what + " of " +
           (!nans_         ? "finite "
            : !infinities_ ? "finite and NaN "
                           : "") +
           format + " logits, n = " + std::to_string(columns_) + ", theta = 1";
  }
  bool is_measured() const override { return columns_ == 2; }
  std::uint64_t blocks() const override { return (all_rows() + rows_of_block - 1) / rows_of_block; }
  RowShape shape(std::uint64_t) const override {
    return {columns_ == 2 ? RowKind::pairs : RowKind::any, columns_, 1, true};
  }
  std::size_t rows(std::uint64_t block) const override {
    return static_cast<std::size_t>(std::min<std::uint64_t>(rows_of_block, all_rows() - block * rows_of_block));
  }
  void fill(std::uint64_t block, std::span<std::byte> logits) const override {
    const auto bits = static_cast<std::uint64_t>(properties(format_).storage_bits);
    const std::uint64_t mask = (std::uint64_t{1} << bits) - 1;
    std::byte* to = logits.data();
    const auto put = [&](std::uint64_t pattern) {
      std::memcpy(to, &pattern, bits / 8);  // little endian, like the ABI's tensors
      to += bits / 8;
    };
    std::uint64_t index = (first_ << bits * (columns_ - 1)) + block * rows_of_block;
    for (std::size_t r = rows(block); r > 0; --r, ++index) {
      bool leave_out = false;
      for (std::size_t k = 0; !infinities_ && k < columns_; ++k) {
        const double logit = decode(format_, index >> bits * k & mask);
        leave_out |= std::isinf(logit) || (std::isnan(logit) && !nans_);
      }
      for (std::size_t k = columns_; k-- > 0;) put(leave_out ? 0 : index >> bits * k & mask);
    }
  }
  double argument(std::uint64_t block) const override {
    const auto bits = static_cast<std::uint64_t>(properties(format_).storage_bits);
    return bits == 16 ? std::fabs(decode(format_, first_ + block)) : 0;
  }

 private:
  static constexpr std::uint64_t rows_of_block = 65536;
  std::uint64_t all_rows() const {
    const auto bits = static_cast<std::uint64_t>(properties(format_).storage_bits);
    return (last_ - first_) << bits * (columns_ - 1);
  }

  Format format_;
  std::size_t columns_;
  std::uint64_t first_, last_;
  bool nans_, infinities_;
};

// For each width: equal logits, logits that repeat five numbers, and one number above all others at the end.
class Widths final : public Enumeration {
 public:
  Widths(Format format, std::vector<std::uint64_t> widths, std::string said)
      : format_(format), widths_(std::move(widths)), said_(std::move(said)) {}

  std::string name() const override { return said_; }
  std::uint64_t blocks() const override { return widths_.size(); }
  RowShape shape(std::uint64_t block) const override {
    return {RowKind::any, static_cast<std::size_t>(widths_[block]), 1, true};
  }
  std::size_t rows(std::uint64_t) const override { return 3; }
  void fill(std::uint64_t block, std::span<std::byte> logits) const override {
    const std::size_t bytes = static_cast<std::size_t>(properties(format_).storage_bits) / 8;
    std::byte* to = logits.data();
    const auto put = [&](double value) {
      const std::uint64_t bits = encode(format_, value);
      std::memcpy(to, &bits, bytes);
      to += bytes;
    };
    const std::uint64_t n = widths_[block];
    for (std::uint64_t i = 0; i < n; ++i) put(0);
    for (std::uint64_t i = 0; i < n; ++i) put(-0.75 * static_cast<double>(i % 5));
    for (std::uint64_t i = 0; i < n; ++i) put(i + 1 == n ? 3 : -2);
  }

 private:
  Format format_;
  std::vector<std::uint64_t> widths_;
  std::string said_;
};

// From this deviation on, every weight is below half the format's smallest number. ln 2 < 0.6932.
double cut_off(Format format) {
  const FormatProperties& p = properties(format);
  return (p.precision - p.min_exponent) * 0.6932;
}

std::string words_of(std::uint64_t first, std::uint64_t last, std::uint64_t whole, const std::string& format) {
  if (first == 0 && last == whole) return "every " + format + " x <= 0 beside a maximum of 0";
  return "every " + format + " x from " + hex_float(negated(first)) + " down to " + hex_float(negated(last - 1)) +
         " beside a maximum of 0";
}

class Builder {
 public:
  Builder(const KernelSubject& subject, const ArgumentRange& range, std::vector<std::string>& skipped)
      : format_(subject.contract.input),
        domain_(subject.domain),
        range_(range),
        skipped_(skipped),
        scalar_(subject.op->one_value_per_row),
        output_(subject.contract.output) {}

  std::vector<std::unique_ptr<Enumeration>> take() {
    const int bits = properties(format_).storage_bits;
    if (bits >= 32) {
      add_arguments();
      if (scalar_) add_sums();
    } else {
      add_tuples(2);
      if (bits == 8) add_tuples(3);
    }
    if (range_.everything()) add_widths();
    return std::move(all_);
  }

 private:
  bool has_columns(std::uint64_t n) const { return domain_.length("n").contains(n); }

  void add_arguments() {
    const std::string format = format_ == Format::f64 ? "f32 number as an f64 logit" : "f32";
    const std::uint64_t first = range_.first, last = std::min(range_.last, f32_arguments);
    const auto cut = static_cast<float>(cut_off(output_ == Format::f64 ? Format::f64 : Format::f32));
    const std::uint64_t last_pair = std::min<std::uint64_t>(last, std::bit_cast<std::uint32_t>(cut) + 1);
    if (!has_columns(2)) {
      skipped_.emplace_back("rows of two logits: the domain has no n=2");
    } else if (first < last_pair) {
      all_.push_back(std::make_unique<Arguments>(format_, RowShape{RowKind::pairs, 2, 1, true}, first, last_pair,
                                                 words_of(first, last_pair, f32_arguments, format)));
    }
    // 64 arguments and the maximum, or the domain's nearest length.
    const std::uint64_t columns = domain_.length("n").nearest(65);
    if (columns < 3 || columns > logits_of_call) {
      skipped_.emplace_back("arguments beside their maximum in long rows: the domain has no n between 3 and 32768");
      return;
    }
    const auto add = [&](bool maximum_first, double theta) {
      const RowShape shape{RowKind::beside_maximum, static_cast<std::size_t>(columns), theta, maximum_first};
      if (first < last) {
        all_.push_back(
            std::make_unique<Arguments>(format_, shape, first, last, words_of(first, last, f32_arguments, format)));
      }
    };
    add(true, 1);
    if (domain_.unit_theta) {
      skipped_.emplace_back("theta = " + hex_float(odd_theta) + ": the domain has theta=1");
    } else {
      add(false, odd_theta);
    }
  }

  void add_sums() {
    std::vector<std::uint64_t> counts;
    constexpr std::uint64_t most = 255;
    // With a part of the arguments, test the sums of the longest rows only.
    const std::uint64_t first = range_.everything() ? 1 : most;
    for (std::uint64_t count = first; count <= most; ++count) {
      if (has_columns(count + 1)) counts.push_back(count);
    }
    if (counts.empty()) {
      skipped_.emplace_back("sums of equal logits and one: the domain has no n from 2 to 256");
      return;
    }
    const bool all = counts.size() == most + 1 - first;
    all_.push_back(std::make_unique<Sums>(format_, std::move(counts),
                                          "every f32 sum S in (" + std::to_string(first) + ", " +
                                              std::to_string(most + 1) + "] " +
                                              (all ? "" : "of the domain's lengths ") +
                                              "as k logits of 0 and one of ln(S - k), S in (k, k + 1], theta = 1"));
  }

  void add_tuples(std::size_t columns) {
    if (!has_columns(columns)) {
      skipped_.emplace_back((columns == 2 ? "pairs" : "triples") + std::string(": the domain has no n=") +
                            std::to_string(columns));
      return;
    }
    const std::uint64_t patterns = std::uint64_t{1} << properties(format_).storage_bits;
    const std::uint64_t last = std::min(range_.last, patterns);
    if (range_.first < last) {
      all_.push_back(std::make_unique<Tuples>(format_, columns, range_.first, last, domain_));
    }
  }

  void add_widths() {
    constexpr std::uint64_t most = 8192;
    std::vector<std::uint64_t> widths;
    for (std::uint64_t n = 1; n <= most; ++n) {
      if (has_columns(n)) widths.push_back(n);
    }
    if (widths.empty()) return;
    const std::string said = widths.size() == most ? "every width from 1 to 8192" : "every width of the domain to 8192";
    all_.push_back(std::make_unique<Widths>(format_, std::move(widths),
                                            said + ", of equal, repeated and peaked logits, theta = 1"));
  }

  Format format_;
  const Domain& domain_;
  const ArgumentRange& range_;
  std::vector<std::string>& skipped_;
  bool scalar_;
  Format output_;
  std::vector<std::unique_ptr<Enumeration>> all_;
};

}  // namespace

std::uint64_t Enumeration::rows_before(std::uint64_t block) const {
  std::uint64_t count = 0;
  for (std::uint64_t before = 0; before < block; ++before) count += rows(before);
  return count;
}

std::vector<std::unique_ptr<Enumeration>> enumerations_of(const KernelSubject& subject, const ArgumentRange& range,
                                                          std::vector<std::string>& skipped) {
  if (subject.op->is_attention()) return score_enumerations(subject, range, skipped);
  return Builder(subject, range, skipped).take();
}

}  // namespace softcheck::proptests
