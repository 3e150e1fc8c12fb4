#include <rapidcheck.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "numerics/formats/special_values.hpp"
#include "proptests/generators/drawing/draw.hpp"
#include "proptests/generators/row_matrices/row_matrix.hpp"

namespace softcheck::proptests {
namespace {

using numerics::infinity;

std::uint64_t draw_count(Draw& draw, std::uint64_t least, std::uint64_t most) {
  // Odd and even numbers, below and above the widths that kernels process at once.
  return most <= 16 ? least + draw.below(most - least + 1) : draw.log_uniform(std::max<std::uint64_t>(least, 1), most);
}

RunLengthRow mirrored(const RunLengthRow& row) { return RunLengthRow({row.runs().rbegin(), row.runs().rend()}); }

RunLengthRow negated(const RunLengthRow& row) {
  std::vector<Run> runs = row.runs();
  for (Run& run : runs) {
    if (std::isfinite(run.value)) run.value = -run.value;
  }
  return RunLengthRow(std::move(runs));
}

/// Adds one number to all visible logits, rounded to the format.
RunLengthRow shifted(Draw& draw, const RunLengthRow& row, numerics::Format format) {
  static constexpr double far[] = {1e4, 5e4, 1e5, 1e10, 1e30};
  const double largest = numerics::properties(format).largest;
  const double distance = draw.one_in(4) ? largest / 2 : std::min(largest / 2, far[draw.below(std::size(far))]);
  const double shift = numerics::round_to(format, draw.one_in(3) ? distance : -distance);
  std::vector<Run> runs = row.runs();
  for (Run& run : runs) {
    if (!std::isfinite(run.value)) continue;
    run.value = numerics::round_to(format, std::clamp(run.value + shift, -largest, largest));
  }
  return RunLengthRow(std::move(runs));
}

/// Draws which items a mask hides, as by padding, causality, windows and sparse blocks.
std::vector<bool> draw_hidden(Draw& draw, std::size_t columns) {
  const std::size_t n = columns;
  std::vector<bool> hidden(n, false);
  const std::size_t block = std::size_t{1} << draw.below(7);
  const std::size_t blocks = (n + block - 1) / block;
  const auto hide = [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < std::min(end, n); ++i) hidden[i] = true;
  };
  switch (draw.below(8)) {
    case 0:  // a prefix
      hide(0, draw.log_uniform(1, n));
      break;
    case 1:  // a suffix
      hide(n - draw.log_uniform(1, n), n);
      break;
    case 2: {  // one block
      const std::size_t begin = block * draw.below(blocks);
      hide(begin, begin + block);
      break;
    }
    case 3: {  // all blocks but one
      const std::size_t begin = block * draw.below(blocks);
      hide(0, begin);
      hide(begin + block, n);
      break;
    }
    case 4: {  // all but about every third
      const std::size_t stride = 2 + draw.below(3), seen = draw.below(stride);
      for (std::size_t i = 0; i < n; ++i) hidden[i] = i % stride != seen;
      break;
    }
    case 5: {  // all but one
      hide(0, n);
      hidden[draw.below(n)] = false;
      break;
    }
    case 6:  // nothing
      break;
    default:
      for (std::size_t i = 0; i < n; ++i) hidden[i] = draw.one_in(2);
  }
  return hidden;
}

/// The first visible item from `wanted` on; else the last one before it.
std::optional<std::uint64_t> visible_from(const RunLengthRow& row, std::uint64_t wanted) {
  std::optional<std::uint64_t> before;
  std::uint64_t begin = 0;
  for (const Run& run : row.runs()) {
    if (run.value != -infinity) {
      if (begin + run.count > wanted) return std::max(begin, wanted);
      before = begin + run.count - 1;
    }
    begin += run.count;
  }
  return before;
}

RunLengthRow all_hidden(std::uint64_t columns) { return RunLengthRow({{-infinity, columns}}); }

struct Generator {
  RowMatrixOptions options;
  rc::Gen<RowCase> rows;

  RowMatrixCase draw_matrix(const rc::Random& random, int size) const {
    Draw draw(random);
    const auto row = [&](const rc::Gen<RowCase>& generator) {
      return generator(rc::Random(draw.bits()), size).value();
    };
    const RowCase first = row(rows);
    RowMatrixCase result;
    result.family = first.family;
    result.format = first.format;
    result.theta = first.theta;
    result.auxiliary = first.auxiliary;
    result.columns = first.row.size();
    const LengthRange allowed = options.rows.domain.length("rows");
    const std::uint64_t count = draw_rows(draw, allowed);
    std::vector<RunLengthRow> drawn;
    if (options.alike) {
      for (std::uint64_t r = 0; r < count; ++r) {
        drawn.push_back(r % 3 == 0 ? mirrored(first.row) : r % 3 == 1 ? first.row : negated(first.row));
      }
    } else {
      RowOptions of_one_length = options.rows;
      of_one_length.formats = {first.format};
      of_one_length.min_length = of_one_length.max_length = result.columns;
      of_one_length.max_edge_length = 0;
      of_one_length.theta_exponent = 0;
      const rc::Gen<RowCase> others = row_cases(of_one_length);
      for (std::uint64_t r = 0; r < count; ++r) drawn.push_back(row(others).row);
    }
    for (RunLengthRow& one : drawn) change(draw, one, result);
    if (options.rows.fully_masked && count > 0) drawn[draw.below(count)] = all_hidden(result.columns);
    result.rows = RowCycle(std::move(drawn));
    place(draw, result);
    if (options.nans) result.specials = draw_nans(draw, result);
    if (!admits(options, result)) {
      result.specials.clear();
      result.rows = RowCycle(std::vector<RunLengthRow>(count, first.row));
      result.mask = MaskUse::none;
    }
    return result;
  }

  std::uint64_t draw_rows(Draw& draw, const LengthRange& allowed) const {
    const std::vector<std::uint64_t> listed = allowed.listed_within(options.least_rows, options.most_rows);
    if (!listed.empty() && draw.one_in(2)) return listed[draw.below(listed.size())];
    return allowed.nearest(draw_count(draw, options.least_rows, options.most_rows));
  }

  void change(Draw& draw, RunLengthRow& one, const RowMatrixCase& matrix) const {
    if (options.shifts && draw.one_in(8)) one = shifted(draw, one, matrix.format);
    one = bounded(std::move(one), options.rows.domain, matrix.theta, matrix.format);
    const bool may_hide = options.rows.domain.hides_by_infinity() || !options.rows.domain.no_mask;
    if (options.mask_patterns && may_hide) one = masked_row(draw, one, options.rows.fully_masked);
  }

  void place(Draw& draw, RowMatrixCase& result) const {
    const auto hides = [](const RunLengthRow& one) { return one.visible() < one.size(); };
    const Domain& domain = options.rows.domain;
    const bool hidden = std::ranges::any_of(result.rows.cycle(), hides);
    if (!domain.no_mask && options.rows.masks && (options.mask_patterns || hidden)) {
      result.mask = draw.one_in(4) ? MaskUse::none : draw.one_in(2) ? MaskUse::tensor : MaskUse::mixed;
      if (!domain.hides_by_infinity()) result.mask = MaskUse::tensor;
    }
    if (!options.layouts || domain.compact) return;
    const auto count = static_cast<std::int64_t>(result.rows.size());
    const auto columns = static_cast<std::int64_t>(result.columns);
    for (MatrixLayout* layout : {&result.in, &result.out, &result.visible}) {
      do *layout = draw_layout(draw, count, columns);
      while (domain.contiguous && !layout->compact() && layout->column_stride != 1);
      if (domain.no_offset) layout->offset = 0;
    }
    if (result.mask == MaskUse::none && options.rows.auxiliaries == 0) result.visible = {};
  }

  rc::Shrinkable<RowMatrixCase> operator()(const rc::Random& random, int size) const {
    return rc::shrinkable::shrinkRecur(draw_matrix(random, size), [options = options](const RowMatrixCase& matrix) {
      return shrink_row_matrix(matrix, options);
    });
  }
};

}  // namespace

RunLengthRow masked_row(Draw& draw, const RunLengthRow& row, bool may_hide_all) {
  std::vector<bool> hidden = draw_hidden(draw, row.size());
  std::vector<double> logits = row.expand();
  for (std::size_t i = 0; i < logits.size(); ++i) {
    if (hidden[i]) logits[i] = -infinity;
  }
  const bool nothing_left = std::ranges::all_of(logits, [](double logit) { return std::isinf(logit); });
  if (nothing_left && !may_hide_all) return row;
  return RunLengthRow::of(logits);
}

MatrixLayout draw_layout(Draw& draw, std::int64_t rows, std::int64_t columns) {
  return draw_layout_of(draw, draw.below(8), rows, columns);
}

MatrixLayout draw_layout_of(Draw& draw, std::uint64_t kind, std::int64_t rows, std::int64_t columns) {
  const auto some = [&](int most) {
    return static_cast<std::int64_t>(1 + draw.below(static_cast<std::uint64_t>(most)));
  };
  const std::int64_t apart = std::max<std::int64_t>(columns, 1), together = std::max<std::int64_t>(rows, 1);
  MatrixLayout layout;
  switch (kind) {
    case 0:
      break;
    case 1:
      layout.against_the_end = false;
      break;
    case 2:  // explicit compact strides
      layout = {apart, 1};
      break;
    case 3:
      layout = {apart + some(7), 1};
      break;
    case 4: {
      const std::int64_t step = 1 + some(2);
      layout = {apart * step, step};
      break;
    }
    case 5:
      layout.offset = some(7);
      break;
    case 6:  // columns within a larger matrix
      layout = {1, together + some(4) - 1};
      break;
    default: {
      const std::int64_t step = 1 + some(3);
      layout = {apart * step + some(5), step, some(7), draw.one_in(2)};
    }
  }
  return layout;
}

std::uint64_t draw_nan_bits(Draw& draw, numerics::Format format) {
  const numerics::FormatProperties& facts = numerics::properties(format);
  const std::uint64_t quiet = std::uint64_t{1} << (facts.precision - 2), below_quiet = quiet - 1;
  const std::uint64_t exponent = numerics::encode(format, infinity);
  const std::uint64_t sign = draw.one_in(2) ? std::uint64_t{1} << (facts.storage_bits - 1) : 0;
  const std::uint64_t payload = draw.one_in(2) ? 0 : draw.bits() & below_quiet;
  if (!facts.has_infinity) return sign | exponent;  // in these formats this is NaN
  if (draw.one_in(2)) return sign | exponent | quiet | payload;
  // signalling: the quiet bit is 0, and the payload is not 0, which would be an infinity
  return sign | exponent | std::max<std::uint64_t>(payload, 1);
}

std::vector<SpecialLogit> draw_nans(Draw& draw, const RowMatrixCase& matrix) {
  if (size_of(matrix) == 0) return {};
  std::vector<SpecialLogit> nans;
  const std::uint64_t count = draw.one_in(2) ? 1 : 1 + draw.below(3);
  for (std::uint64_t k = 0; k < count; ++k) {
    const std::uint64_t row = draw.one_in(2) ? matrix.rows.size() / 2 : draw.below(matrix.rows.size());
    // As likely near either end as in the middle, for any length.
    const std::uint64_t step = draw.log_uniform(1, matrix.columns) - 1;
    const std::uint64_t wanted = draw.one_in(2) ? step : matrix.columns - 1 - step;
    if (const auto item = visible_from(matrix.rows[row], wanted)) {
      nans.push_back({row, *item, draw_nan_bits(draw, matrix.format)});
    }
  }
  std::ranges::sort(nans, [](const SpecialLogit& a, const SpecialLogit& b) {
    return a.row != b.row ? a.row < b.row : a.item < b.item;
  });
  const auto same_place = [](const SpecialLogit& a, const SpecialLogit& b) {
    return a.row == b.row && a.item == b.item;
  };
  nans.erase(std::unique(nans.begin(), nans.end(), same_place), nans.end());
  return nans;
}

rc::Gen<RowMatrixCase> row_matrices(const RowMatrixOptions& options) {
  return Generator{options, row_cases(options.rows)};
}

}  // namespace softcheck::proptests
