// Listed matrices: every width, empty ones, and strides beyond every integer type.
#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>
#include <utility>

#include "numerics/formats/special_values.hpp"
#include "proptests/generators/row_matrices/known_matrices.hpp"
#include "proptests/generators/rows/row_families.hpp"

namespace softcheck::proptests {
namespace {

// Far below 0, so that a padding of 0 outweighs everything; numbers of every format of this range.
constexpr double high = -20, low = -24, lower = -28, lowest = -32;

/// An equal number of items per level; the last level takes the rest.
RunLengthRow stepped(std::uint64_t columns, std::initializer_list<double> levels) {
  std::vector<Run> runs;
  std::uint64_t begin = 0, k = 0;
  for (const double level : levels) {
    const std::uint64_t end = columns * ++k / levels.size();
    if (end > begin) runs.push_back({level, end - begin});
    begin = end;
  }
  return RunLengthRow(std::move(runs));
}

/// One item of height `peak` at this place.
RunLengthRow peaked(std::uint64_t columns, std::uint64_t place, double peak = high, double others = low) {
  std::vector<Run> runs;
  if (place > 0) runs.push_back({others, place});
  runs.push_back({peak, 1});
  if (place + 1 < columns) runs.push_back({others, columns - place - 1});
  return RunLengthRow(std::move(runs));
}

RunLengthRow varied(std::uint64_t columns) {
  switch (columns % 4) {
    case 0:
      return stepped(columns, {lowest, lower, low, high});
    case 1:
      return peaked(columns, columns / 2);
    case 2:
      return stepped(columns, {high, low, lower, lowest});
    default:
      return stepped(columns, {high});
  }
}

RowMatrixCase matrix_of(numerics::Format format, std::uint64_t columns, std::vector<RunLengthRow> rows) {
  // A format that ends before the lowest level has all of them nearer to 0.
  double nearer = 1;
  while (nearer * -lowest > numerics::properties(format).largest) nearer /= 2;
  if (nearer < 1) {
    for (RunLengthRow& row : rows) {
      std::vector<Run> runs = row.runs();
      for (Run& run : runs) run.value *= nearer;
      row = RunLengthRow(std::move(runs));
    }
  }
  RowMatrixCase result;
  result.format = format;
  result.columns = columns;
  result.rows = RowCycle(std::move(rows));
  result.family = "listed";
  return result;
}

}  // namespace

std::vector<std::uint64_t> swept_widths(std::uint64_t dense, std::uint64_t most) {
  std::vector<std::uint64_t> widths;
  for (std::uint64_t n = 1; n <= std::min(dense, most); ++n) widths.push_back(n);
  for (std::uint64_t step = std::max<std::uint64_t>(dense / 2, 1); step <= most; step *= 2) {
    for (std::uint64_t n = 2 * step; n < 4 * step && n <= most; n += step) {
      for (const std::uint64_t near : {n - 1, n, n + 1}) {
        if (near > widths.back() && near <= most) widths.push_back(near);
      }
    }
  }
  return widths;
}

std::vector<RowMatrixCase> width_sweep(numerics::Format format, const std::vector<std::uint64_t>& widths,
                                       bool all_counts) {
  std::vector<RowMatrixCase> result;
  constexpr std::uint64_t narrow = 129;
  for (const std::uint64_t n : widths) {
    const RunLengthRow first = peaked(n, 0), last = peaked(n, n - 1);
    const auto has = [&](std::uint64_t rows) { return all_counts || n <= narrow || rows == n % 3 + 1; };
    if (has(1)) result.push_back(matrix_of(format, n, {last}));
    if (has(2)) result.push_back(matrix_of(format, n, {first, last}));
    if (has(3)) result.push_back(matrix_of(format, n, {varied(n), stepped(n, {high}), last}));
  }
  return result;
}

TailWidths tail_widths(std::uint64_t most) {
  constexpr std::uint64_t tile = 64;
  TailWidths widths;
  for (const std::uint64_t base : {256, 2048}) {
    for (std::uint64_t n = base + 1; n <= base + tile && n <= most; ++n) {
      (n % 2 == (base == 256 ? 0 : 1) ? widths.plain : widths.masked).push_back(n);
    }
  }
  return widths;
}

std::vector<RowMatrixCase> masked_sweep(numerics::Format format, const std::vector<std::uint64_t>& widths,
                                        MaskUse mask) {
  std::vector<RowMatrixCase> result;
  for (const std::uint64_t n : widths) {
    if (n < 6) continue;
    const std::uint64_t half = (n + 1) / 2, quarter = n / 4;
    RowMatrixCase matrix = matrix_of(
        format, n,
        {RunLengthRow({{-numerics::infinity, half}, {low, n - half - 2}, {-numerics::infinity, 1}, {high, 1}}),
         RunLengthRow({{lower, 1}, {low, n - quarter - 2}, {high, 1}, {-numerics::infinity, quarter}})});
    matrix.mask = mask;
    result.push_back(std::move(matrix));
  }
  return result;
}

std::vector<RowMatrixCase> far_mass_matrices(numerics::Format format, std::uint64_t columns) {
  // Weights that an addition to 1 just keeps or just loses; 2.5 and 6 test kernels that lose only a part of the row.
  std::vector<double> deviations;
  for (const int bits : {8, 11, 24, 53}) {
    for (const double above : {0.75, 1.02, 1.1, 1.25, 1.5, 2.5, 6.0}) {
      deviations.push_back(bits * std::numbers::ln2 - std::log(above));
    }
  }
  for (const int bits : {14, 17, 20, 27, 30, 33, 36, 40, 44, 48, 57, 64, 100, 126, 149}) {
    deviations.push_back(bits * std::numbers::ln2);
  }
  std::ranges::sort(deviations);
  std::vector<RowMatrixCase> result;
  double before = 0;
  for (const double deviation : deviations) {
    const double level = into_format(format, -deviation);
    if (columns < 2 || std::exchange(before, level) == level) continue;
    const std::array<std::uint64_t, 3> places{0, columns - 1, columns / 2};
    result.push_back(matrix_of(format, columns, {peaked(columns, places[result.size() % 3], 0, level)}));
  }
  return result;
}

std::vector<RowMatrixCase> empty_matrices(numerics::Format format) {
  return {matrix_of(format, 5, {}), matrix_of(format, 0, {RunLengthRow()}),
          matrix_of(format, 0, {RunLengthRow(), RunLengthRow(), RunLengthRow()}), matrix_of(format, 0, {})};
}

std::vector<RowMatrixCase> distant_matrices(numerics::Format format) {
  std::vector<RowMatrixCase> result;
  for (const int power : {15, 16, 31, 32}) {
    const std::int64_t far = std::int64_t{1} << power;
    for (const bool rows_apart : {true, false}) {
      // If an address wraps around, the kernel reads or writes another of the two distant rows, or of the three items.
      RowMatrixCase matrix = matrix_of(format, 3, {peaked(3, 0), peaked(3, 2)});
      if (!rows_apart) matrix = matrix_of(format, 2, {peaked(2, 1), peaked(2, 0), stepped(2, {high})});
      const MatrixLayout apart = rows_apart ? MatrixLayout{far + 3, 1} : MatrixLayout{1, far + 3};
      matrix.in = matrix.out = apart;
      result.push_back(matrix);
      matrix.mask = MaskUse::tensor;
      matrix.visible = apart;
      result.push_back(matrix);
    }
  }
  return result;
}

}  // namespace softcheck::proptests
