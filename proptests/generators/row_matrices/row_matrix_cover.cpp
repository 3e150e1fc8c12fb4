// Calls that cover all pairs of classes.
#include <rapidcheck.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "numerics/formats/special_values.hpp"
#include "proptests/engine/interrupted.hpp"
#include "proptests/generators/drawing/covering.hpp"
#include "proptests/generators/drawing/draw.hpp"
#include "proptests/generators/row_matrices/row_matrix_classes.hpp"
#include "proptests/generators/rows/row_families.hpp"

namespace softcheck::proptests {
namespace {

using numerics::infinity;

// The dimensions' indices in matrix_dimensions().
struct Dim {
  enum : std::size_t { rows, columns, length, theta, hidden, input, output, visible, nan, nan_at, values };
};

struct Bounds {
  std::uint64_t least, most;
};

/// The part of a range of lengths that the options allow; empty if least > most.
Bounds within(const NamedRange& range, const LengthRange& domain, std::uint64_t most) {
  return {std::max({range.least, domain.least, std::uint64_t{1}}), std::min({range.most, domain.most, most})};
}

/// Typical lengths of the class within the bounds, and some others.
std::vector<std::uint64_t> lengths_of(Draw& draw, const Bounds& bounds, LengthClass wanted, const LengthRange& domain) {
  std::vector<std::uint64_t> lengths;
  const auto offer = [&](std::uint64_t n) {
    if (n >= bounds.least && n <= bounds.most && length_class(n) == wanted && domain.contains(n)) lengths.push_back(n);
  };
  if (bounds.least > bounds.most) return lengths;
  if (!domain.listed.empty()) {
    for (const std::uint64_t n : domain.listed) offer(n);
    return lengths;
  }
  for (const std::uint64_t base : {2, 10}) {
    for (std::uint64_t power = base == 2 ? 1 : 10; power / base <= bounds.most; power *= base) {
      for (const std::uint64_t n : {power - 1, power, power + 1}) offer(n);
    }
  }
  for (int i = 0; i < 24; ++i) {
    const std::uint64_t n = draw.log_uniform(bounds.least, bounds.most), multiple = n / 16 * 16;
    for (const std::uint64_t near : {n, multiple, multiple + 1, multiple + 15}) offer(near);
    offer(domain.nearest(n));
  }
  return lengths;
}

double draw_theta_of(Draw& draw, ThetaClass wanted, int exponent) {
  using enum ThetaClass;
  using numerics::Format;
  // Draws numbers until one is in the class: each class has an eighth or more of some kind.
  for (int i = 0; i < 2000; ++i) {
    double theta = std::pow(10.0, 8 * draw.unit() - 4);
    if (wanted == one) return 1;
    if (wanted == power_of_two) theta = std::ldexp(1.0, draw.between(-10, 10));
    if (wanted == few_bits || wanted == bits_of_f32) {
      theta = numerics::round_to(wanted == few_bits ? Format::bf16 : Format::f32, theta);
    }
    if (wanted == extreme) theta = std::ldexp(1.0, draw.one_in(2) ? exponent : -exponent);
    if (theta_class(theta) == wanted) return theta;
  }
  return 1;
}

/// Can calls have some classes together? Computes the possible lengths once.
class Possibilities {
 public:
  Possibilities(const RowMatrixOptions& options, Draw& draw) : options_(options), ascending_(place({}, {}) + 1) {
    const LengthRange of_rows = options.rows.domain.length("rows"), of_columns = options.rows.domain.length("n");
    for (const NamedRange& range : row_ranges) {
      const Bounds bounds = within(range, of_rows, options.most_rows);
      const std::uint64_t least = of_rows.at_least(bounds.least).value_or(0);
      least_rows_.push_back(least <= bounds.most ? least : 0);
    }
    for (std::size_t r = 0; r < column_ranges.size(); ++r) {
      const Bounds bounds = within(column_ranges[r], of_columns, options.rows.max_length);
      for (std::size_t k = 0; k < length_classes; ++k) {
        lengths_.push_back(lengths_of(draw, bounds, static_cast<LengthClass>(k), of_columns));
        for (const std::size_t at : {place(r, k), place(r, {}), place({}, k), place({}, {})}) {
          ascending_[at].insert(ascending_[at].end(), lengths_.back().begin(), lengths_.back().end());
        }
      }
    }
    for (std::vector<std::uint64_t>& all : ascending_) std::ranges::sort(all);
  }

  std::uint64_t least_rows(std::size_t range) const { return least_rows_[range]; }
  const std::vector<std::uint64_t>& lengths(std::size_t range, std::size_t kind) const {
    return lengths_[range * length_classes + kind];
  }

  /// The shortest row that fits the other choices: two items of which one is hidden, or the position of a NaN.
  static std::uint64_t needed(const ClassChoice& choice) {
    std::uint64_t least = 1;
    if (choice[Dim::hidden] && *choice[Dim::hidden] != 0)
      least = *choice[Dim::hidden] == static_cast<std::size_t>(MaskClass::mixed) ? 3 : 2;
    if (choice[Dim::input] == 6 || choice[Dim::output] == 6 || choice[Dim::visible] == 7)
      least = std::max<std::uint64_t>(least, 2);
    if (!choice[Dim::nan_at] || *choice[Dim::nan_at] < 2) return least;
    const bool last = *choice[Dim::nan_at] + 1 == nan_places.size();
    return std::max(least, last ? 2 : nan_places[*choice[Dim::nan_at]].least + 2);
  }

  bool operator()(const ClassChoice& choice) const {
    return lengths_fit(choice) && parameters_fit(choice) && layouts_fit(choice) && nans_fit(choice);
  }

 private:
  static std::size_t place(std::optional<std::size_t> range, std::optional<std::size_t> kind) {
    return range.value_or(column_ranges.size()) * (length_classes + 1) + kind.value_or(length_classes);
  }

  /// The shortest length that the choice allows; 0 if there is none.
  std::uint64_t shortest(const ClassChoice& choice) const {
    const std::vector<std::uint64_t>& left = ascending_[place(choice[Dim::columns], choice[Dim::length])];
    const auto least = std::ranges::lower_bound(left, needed(choice));
    return least == left.end() ? 0 : *least;
  }

  bool lengths_fit(const ClassChoice& choice) const {
    const std::uint64_t n = shortest(choice);
    const std::uint64_t count = choice[Dim::rows] ? least_rows_[*choice[Dim::rows]] : 1;
    return n > 0 && count > 0 && n * count <= options_.max_elements;
  }

  bool parameters_fit(const ClassChoice& choice) const {
    const Domain& domain = options_.rows.domain;
    const int exponent = options_.rows.theta_exponent;
    if (choice[Dim::theta] && *choice[Dim::theta] != static_cast<std::size_t>(ThetaClass::one)) {
      if (domain.unit_theta || exponent == 0) return false;
      if (*choice[Dim::theta] == static_cast<std::size_t>(ThetaClass::extreme) && exponent <= 30) return false;
    }
    if (choice[Dim::hidden]) {
      const auto mask = static_cast<MaskClass>(*choice[Dim::hidden]);
      const bool infinite = mask == MaskClass::infinite || mask == MaskClass::mixed;
      const bool whole = mask == MaskClass::whole;
      const bool masked = mask == MaskClass::tensor || mask == MaskClass::mixed || whole;
      if (whole && !options_.rows.fully_masked) return false;
      // Needs another row, for a NaN or next to the fully hidden row.
      if (whole && choice[Dim::rows] && *choice[Dim::rows] == 0) return false;
      if ((infinite && !domain.hides_by_infinity()) || (masked && domain.no_mask)) return false;
      if (choice[Dim::visible] && options_.rows.auxiliaries == 0 && (*choice[Dim::visible] != 0) != masked)
        return false;
    }
    // listed families are not drawn
    return !choice[Dim::values] || *choice[Dim::values] < kernel_row_families().size();
  }

  bool layouts_fit(const ClassChoice& choice) const {
    const Domain& domain = options_.rows.domain;
    if (choice[Dim::visible] && *choice[Dim::visible] > 0 && domain.no_mask && options_.rows.auxiliaries == 0)
      return false;
    // a mask always has a layout; no other inputs: compact
    if (choice[Dim::visible] == 1 && options_.rows.auxiliaries != 0) return false;
    for (const auto which : {Dim::input, Dim::output, Dim::visible}) {
      if (!choice[which]) continue;
      const std::size_t kind = *choice[which] - (which == Dim::visible && *choice[which] > 0 ? 1 : 0);
      if (kind > 2 && kind != 5 && domain.compact) return false;
      if (domain.no_offset && (kind == 5 || kind == 7)) return false;
      if (domain.contiguous && (kind == 4 || kind == 6 || kind == 7)) return false;
    }
    return true;
  }

  bool nans_fit(const ClassChoice& choice) const {
    if (choice[Dim::nan] && choice[Dim::nan_at] && (choice[Dim::nan] == 0) != (choice[Dim::nan_at] == 0)) return false;
    const bool some = (choice[Dim::nan] && *choice[Dim::nan] > 0) || (choice[Dim::nan_at] && *choice[Dim::nan_at] > 0);
    if (!some) return true;
    if (options_.rows.domain.finite) return false;
    if (!choice[Dim::nan]) return options_.nans || options_.infinities;
    const auto kind = static_cast<NanClass>(*choice[Dim::nan]);
    if (kind == NanClass::infinite) return options_.infinities;
    // A format without infinity has one NaN per sign.
    const bool of_one_kind =
        kind != NanClass::signalling && kind != NanClass::signalling_negative && kind != NanClass::payload;
    return options_.nans && (of_one_kind || numerics::properties(options_.rows.formats.front()).has_infinity);
  }

  const RowMatrixOptions& options_;
  std::vector<std::uint64_t> least_rows_;
  std::vector<std::vector<std::uint64_t>> lengths_;
  // Indexed by place(): the ascending lengths for a class of columns and a length class.
  std::vector<std::vector<std::uint64_t>> ascending_;
};

class Coverer {
 public:
  Coverer(const RowMatrixOptions& options, std::uint64_t seed)
      : options_(options), draw_(seed), possible_(options, draw_) {}

  MatrixCover cover(bool pairs, const std::function<bool()>& stop_requested) {
    const auto go_on = [&] {
      if (stop_requested && stop_requested()) throw Interrupted();
    };
    std::vector<std::size_t> counts;
    for (const MatrixDimension& dimension : matrix_dimensions()) counts.push_back(dimension.classes.size());
    MatrixCover result;
    for (std::size_t d = 0; d < counts.size(); ++d) {
      result.possible.emplace_back();
      for (std::size_t c = 0; c < counts[d]; ++c) {
        ClassChoice alone(counts.size());
        alone[d] = c;
        result.possible.back().push_back(possible_(alone));
      }
    }
    const auto fits = [&, asked = std::size_t{0}](const ClassChoice& choice) mutable {
      if (++asked % 64 == 0) go_on();  // reading the clock costs as much as an answer
      return possible_(choice);
    };
    const auto choices = pairs ? covering_choices(counts, fits, draw_) : touching_choices(counts, fits, draw_);
    for (const std::vector<std::size_t>& choice : choices) {
      go_on();
      result.matrices.push_back(matrix_of(choice));
    }
    std::ranges::stable_sort(result.matrices, {}, [](const RowMatrixCase& matrix) { return size_of(matrix); });
    return result;
  }

 private:
  RowMatrixCase matrix_of(const std::vector<std::size_t>& choice) {
    RowMatrixCase matrix;
    matrix.format = options_.rows.formats.front();
    matrix.theta = draw_theta_of(draw_, static_cast<ThetaClass>(choice[Dim::theta]), options_.rows.theta_exponent);
    constexpr std::uint64_t few = std::uint64_t{1} << 16, short_row = std::uint64_t{1} << 12;
    const std::uint64_t shortest = std::ranges::min(lengths_for(choice, unlimited));
    const bool is_large = shortest <= short_row && draw_.one_in(4);
    affordable_ = is_large ? options_.max_elements : std::min(options_.max_elements, few);
    const std::uint64_t count = draw_rows(choice, shortest);
    matrix.columns = draw_columns(choice, count);
    const RowFamily family = kernel_row_families()[choice[Dim::values]];
    matrix.family = to_string(family);
    // A period of three, five or seven: no power of two, at which an index may wrap, is a multiple. Each distinct row
    // is judged individually, so long rows have fewer; no call has 256 long rows.
    const std::uint64_t turn =
        std::min({count, 3 + 2 * draw_.below(3), std::max<std::uint64_t>(2, few / matrix.columns)});
    std::vector<RunLengthRow> cycle;
    for (std::uint64_t r = 0; r < turn; ++r) cycle.push_back(draw_row(family, matrix));
    hide(choice, matrix, cycle);
    matrix.rows = RowCycle(std::move(cycle), count);
    lay_out(choice, matrix);
    if (options_.rows.auxiliaries != 0) {
      matrix.auxiliary =
          ((draw_.log_uniform(1, most_auxiliary + 1) - 1) & options_.rows.auxiliaries) | options_.rows.auxiliaries_set;
    }
    if (choice[Dim::nan] > 0) place_nans(choice, matrix);
    return matrix;
  }

  std::vector<std::uint64_t> lengths_for(const std::vector<std::size_t>& choice, std::uint64_t most) const {
    std::vector<std::uint64_t> lengths = possible_.lengths(choice[Dim::columns], choice[Dim::length]);
    const std::uint64_t least = Possibilities::needed(ClassChoice(choice.begin(), choice.end()));
    std::erase_if(lengths, [&](std::uint64_t n) { return n < least || n > most; });
    return lengths;
  }

  std::uint64_t draw_rows(const std::vector<std::size_t>& choice, std::uint64_t shortest) {
    const LengthRange domain = options_.rows.domain.length("rows");
    const std::uint64_t fewest = possible_.least_rows(choice[Dim::rows]);
    const std::uint64_t most = std::min(within(row_ranges[choice[Dim::rows]], domain, options_.most_rows).most,
                                        std::max(fewest, affordable_ / shortest));
    const std::vector<std::uint64_t> listed = domain.listed_within(fewest, most);
    if (!listed.empty()) return listed[draw_.below(listed.size())];
    const std::uint64_t near = domain.nearest(draw_.log_uniform(fewest, most));
    return near < fewest || near > most ? fewest : near;
  }

  std::uint64_t draw_columns(const std::vector<std::size_t>& choice, std::uint64_t count) {
    std::vector<std::uint64_t> lengths = lengths_for(choice, options_.max_elements / count);
    const std::uint64_t most = std::max(affordable_ / count, 2 * std::ranges::min(lengths));
    std::erase_if(lengths, [&](std::uint64_t n) { return n > most; });
    return lengths[draw_.below(lengths.size())];
  }

  RunLengthRow draw_row(RowFamily family, const RowMatrixCase& matrix) {
    RowOptions of_one = options_.rows;
    of_one.families = {family};
    of_one.min_length = of_one.max_length = matrix.columns;
    of_one.theta_exponent = 0;
    of_one.fully_masked = false;
    of_one.max_edge_length = 0;
    of_one.masks = of_one.masks && family == RowFamily::masked && options_.rows.domain.hides_by_infinity();
    if (family == RowFamily::masked && !of_one.masks) of_one.families = {RowFamily::normal};
    if (draws_runs(family)) {  // these depend on the temperature
      const RunLengthRow row(draw_runs(draw_, family, matrix.format, matrix.theta, matrix.columns));
      return bounded(row, of_one.domain, matrix.theta, matrix.format);
    }
    const RunLengthRow row = row_cases(of_one)(rc::Random(draw_.bits()), 100).value().row;
    return bounded(row, of_one.domain, matrix.theta, matrix.format);
  }

  void hide(const std::vector<std::size_t>& choice, RowMatrixCase& matrix, std::vector<RunLengthRow>& cycle) {
    const auto mask = static_cast<MaskClass>(choice[Dim::hidden]);
    matrix.mask = mask == MaskClass::tensor || mask == MaskClass::whole ? MaskUse::tensor
                  : mask == MaskClass::mixed                            ? MaskUse::mixed
                                                                        : MaskUse::none;
    if (mask == MaskClass::none) {
      for (RunLengthRow& row : cycle) row = all_visible(row);
      return;
    }
    if (mask == MaskClass::whole) cycle[draw_.below(cycle.size())] = RunLengthRow({{-infinity, matrix.columns}});
    for (RunLengthRow& row : cycle) {
      if (row.visible() == 0) continue;
      // Retry a mask that hides nothing in this row.
      for (int i = 0; i < 8 && row.visible() == row.size(); ++i) row = masked_row(draw_, row, false);
    }
  }

  static RunLengthRow all_visible(const RunLengthRow& row) {
    std::vector<Run> runs = row.runs();
    const double lowest = row.minimum();  // once, since it reads all runs
    for (Run& run : runs) run.value = std::isinf(run.value) ? lowest : run.value;
    return RunLengthRow(std::move(runs));
  }

  void lay_out(const std::vector<std::size_t>& choice, RowMatrixCase& matrix) {
    const auto count = static_cast<std::int64_t>(matrix.rows.size());
    const auto width = static_cast<std::int64_t>(matrix.columns);
    matrix.in = draw_layout_of(draw_, choice[Dim::input], count, width);
    matrix.out = draw_layout_of(draw_, choice[Dim::output], count, width);
    if (choice[Dim::visible] > 0) matrix.visible = draw_layout_of(draw_, choice[Dim::visible] - 1, count, width);
  }

  void place_nans(const std::vector<std::size_t>& choice, RowMatrixCase& matrix) {
    const std::uint64_t n = matrix.columns, count = matrix.rows.size();
    const NamedRange& place = nan_places[choice[Dim::nan_at]];
    const bool last = choice[Dim::nan_at] + 1 == nan_places.size();
    const std::uint64_t item = last ? n - 1
                               : choice[Dim::nan_at] == 1
                                   ? 0
                                   : draw_.log_uniform(place.least, std::min(place.most, n > 1 ? n - 2 : 1));
    std::uint64_t row = draw_.one_in(3) ? 0 : draw_.one_in(2) ? count - 1 : draw_.below(count);
    if (count > 1 && matrix.rows[row].visible() == 0) row = row > 0 ? row - 1 : 1;  // that row stays fully hidden
    make_visible(matrix, row, item);
    if (static_cast<NanClass>(choice[Dim::nan]) == NanClass::infinite) return place_infinities(matrix, row, item);
    matrix.specials = {{row, item, bits_of(static_cast<NanClass>(choice[Dim::nan]), matrix.format)}};
    if (static_cast<NanClass>(choice[Dim::nan]) != NanClass::several) return;
    for (const SpecialLogit& more : draw_nans(draw_, matrix)) {
      const bool behind = more.row > row || (more.row == row && more.item > item);
      if (behind && matrix.specials.size() < 3) matrix.specials.push_back(more);
    }
  }

  /// One +inf; in a third of the cases a second one next to it shares the weight.
  void place_infinities(RowMatrixCase& matrix, std::uint64_t row, std::uint64_t item) {
    const std::uint64_t bits = numerics::encode(matrix.format, infinity);
    matrix.specials = {{row, item, bits}};
    const bool two = draw_.one_in(3) && item + 1 < matrix.columns;
    if (two && std::isfinite(matrix.rows[row].expand()[item + 1])) matrix.specials.push_back({row, item + 1, bits});
  }

  /// The logit that a NaN or +inf replaces must be visible.
  static void make_visible(RowMatrixCase& matrix, std::uint64_t row, std::uint64_t item) {
    const std::size_t first = matrix.rows.first_like(row);
    std::vector<double> logits = matrix.rows[first].expand();
    if (!std::isinf(logits[item])) return;
    logits[item] = matrix.rows[first].visible() == 0 ? 0 : matrix.rows[first].minimum();
    matrix.rows.replace(first, RunLengthRow::of(logits));
  }

  std::uint64_t bits_of(NanClass wanted, numerics::Format format) {
    const numerics::FormatProperties& facts = numerics::properties(format);
    const std::uint64_t sign = std::uint64_t{1} << (facts.storage_bits - 1);
    const std::uint64_t only = numerics::encode(format, numerics::nan);
    if (!facts.has_infinity) return wanted == NanClass::quiet_negative ? sign | only : only;
    const std::uint64_t quiet = std::uint64_t{1} << (facts.precision - 2), payload = 1 + draw_.below(quiet - 1);
    const std::uint64_t exponent = numerics::encode(format, std::numeric_limits<double>::infinity());
    if (wanted == NanClass::quiet) return exponent | quiet;
    if (wanted == NanClass::quiet_negative) return sign | exponent | quiet;
    if (wanted == NanClass::signalling) return exponent | payload;
    if (wanted == NanClass::signalling_negative) return sign | exponent | payload;
    return exponent | quiet | payload;
  }

  const RowMatrixOptions& options_;
  Draw draw_;
  Possibilities possible_;
  // Most logits of calls whose classes require no more. A quarter of the calls with short rows may exceed it; long rows
  // never do.
  std::uint64_t affordable_ = 0;
};

}  // namespace

MatrixCover covering_matrices(const RowMatrixOptions& options, bool pairs, std::uint64_t seed,
                              const std::function<bool()>& stop_requested) {
  return Coverer(options, seed).cover(pairs, stop_requested);
}

}  // namespace softcheck::proptests
