// Matrices of known shapes, and matrices whose logits reach the range of their format.
#include "proptests/generators/row_matrices/known_matrices.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "numerics/formats/special_values.hpp"
#include "proptests/generators/drawing/draw.hpp"

namespace softcheck::proptests {
namespace {

using numerics::infinity;

constexpr std::uint64_t most_apart = 1024;  // items with individual levels

/// Levels between -4 and 4, in a different order per row; in every second row the last item is the largest.
RunLengthRow row_of(numerics::Format format, std::uint64_t columns, std::uint64_t row) {
  constexpr double step = 0x1p-6;
  const std::uint64_t items = std::min(columns, most_apart);
  std::vector<Run> runs;
  std::uint64_t begin = 0;
  for (std::uint64_t k = 0; k < items; ++k) {
    const std::uint64_t end = columns * (k + 1) / items;
    // 37 + 2 row is odd, so its multiples run through all 512 levels.
    const double level = static_cast<double>(((k + 1) * (37 + 2 * row)) % 512) * step - 4;
    runs.push_back({numerics::round_to(format, level), end - begin});
    begin = end;
  }
  if (row % 2 == 0) {
    --runs.back().count;
    if (runs.back().count == 0) runs.pop_back();
    runs.push_back({numerics::round_to(format, 4.5), 1});
  }
  return RunLengthRow(std::move(runs));
}

bool is_of_many_rows(const KnownRows& shape) { return shape.rows > 64; }

/// Beyond 6e4, 1e5, 1e9 and 1e30, which kernels use as infinity, and near the format's end.
std::vector<double> magnitudes_of(numerics::Format format) {
  const numerics::FormatProperties& facts = numerics::properties(format);
  std::vector<double> magnitudes{0x1.ep+15, 0x1p+17, 0x1p+31, 0x1p+101};
  std::erase_if(magnitudes, [&](double magnitude) { return magnitude > facts.largest; });
  const double top = std::ldexp(1.5, facts.max_exponent - 1);
  if (magnitudes.empty() || top > magnitudes.back()) magnitudes.push_back(top);
  return magnitudes;
}

/// Items of magnitude * item(i); -inf is hidden.
template <class Item>
RunLengthRow row_of(std::uint64_t columns, double magnitude, Item item) {
  std::vector<Run> runs;
  for (std::uint64_t i = 0; i < columns; ++i) runs.push_back({magnitude * item(i), 1});
  return RunLengthRow(std::move(runs));
}

/// Rows far below 0, with and without hidden items, and rows that end far above their beginning.
std::vector<RunLengthRow> rows_at(std::uint64_t columns, double magnitude) {
  const auto below = [](std::uint64_t i) { return i % 3 == 1 ? -infinity : -1; };
  const auto ascending = [](std::uint64_t i) {
    return i == 0 ? -infinity : -std::ldexp(1.0, 1 - static_cast<int>(std::min<std::uint64_t>(i, 4)));
  };
  const auto late = [columns](std::uint64_t i) { return i + 1 < columns ? -1.0 : 0.0; };
  const auto above = [](std::uint64_t i) { return i == 2 ? -infinity : 1; };
  const auto both = [](std::uint64_t i) { return i % 2 == 0 ? -1.0 : 1.0; };
  return {row_of(columns, magnitude, below), row_of(columns, magnitude, ascending), row_of(columns, magnitude, late),
          row_of(columns, magnitude, above), row_of(columns, magnitude, both)};
}

}  // namespace

RowMatrixCase known_matrix(numerics::Format format, const KnownRows& shape) {
  RowMatrixCase matrix;
  matrix.format = format;
  matrix.columns = shape.n;
  // No power of two is a multiple of these periods. Each distinct row is judged individually.
  constexpr std::uint64_t long_row = std::uint64_t{1} << 14;
  const std::uint64_t turn = std::min<std::uint64_t>(shape.rows, shape.n > long_row ? 3 : shape.n % 2 == 0 ? 7 : 5);
  std::vector<RunLengthRow> cycle;
  for (std::uint64_t r = 0; r < turn; ++r) cycle.push_back(row_of(format, shape.n, r));
  matrix.rows = RowCycle(std::move(cycle), shape.rows);
  matrix.family = "listed";
  return matrix;
}

RowMatrixCase support_matrix(numerics::Format format, std::uint64_t support, double edge) {
  constexpr std::uint64_t few = 40, first = 4096;
  // Inside the support, at its edge and outside, as far as the format can represent them.
  const auto at = [&](double part, std::uint64_t count) {
    return Run{numerics::round_to(format, -part * edge), count};
  };
  std::vector<Run> runs{at(2, 20), {0, first},    at(0.99, few), {0, support - first},
                        at(1, 1),  at(1.01, few), at(4, 100)};
  RowMatrixCase matrix;
  matrix.format = format;
  for (const Run& run : runs) matrix.columns += run.count;
  RunLengthRow row(runs);
  std::ranges::reverse(runs);
  matrix.rows = RowCycle({std::move(row), RunLengthRow(std::move(runs))});
  matrix.family = "listed";
  return matrix;
}

RowMatrixCase least_coefficients(numerics::Format logits, std::span<const numerics::Format> formats) {
  // Just above the smallest normal number, and below it.
  static constexpr std::array<double, 7> above{0.375, 0.125, 0x1p-5, 0x1p-6, -2, -10, -25};
  std::vector<double> levels{0};
  for (const numerics::Format format : formats) {
    for (const double distance : above) {
      const double deviation = -std::log(numerics::properties(format).smallest_normal) - distance;
      levels.push_back(numerics::round_to(logits, -deviation));
    }
  }
  // One largest item; then eight, over which the coefficients are as small.
  std::vector<RunLengthRow> rows;
  for (const std::size_t largest : {1, 8}) {
    std::vector<double> row(levels);
    for (double& level : row) level = numerics::round_to(logits, level + (level == 0 ? 0 : std::log(largest)));
    row.insert(row.begin(), largest - 1, 0);
    row.resize(levels.size() + 7, row.back());
    rows.push_back(RunLengthRow::of(row));
  }
  RowMatrixCase matrix;
  matrix.format = logits;
  matrix.columns = rows[0].size();
  matrix.rows = RowCycle(std::move(rows));
  matrix.family = "listed";
  return matrix;
}

std::vector<KnownRows> chosen_rows(std::uint64_t most_items, std::uint64_t most_logits) {
  std::vector<KnownRows> shapes(known_rows().begin(), known_rows().end());
  std::erase_if(shapes,
                [&](const KnownRows& shape) { return shape.n > most_items || shape.rows * shape.n > most_logits; });
  return shapes;
}

std::vector<KnownRows> chosen_rows(std::uint64_t most_items, std::size_t drawn, std::uint64_t seed) {
  constexpr std::uint64_t most_logits = std::uint64_t{1} << 18, few_logits = std::uint64_t{1} << 15;
  std::vector<KnownRows> shapes, others;
  for (const KnownRows& shape : known_rows()) {
    if (shape.n > most_items) continue;
    if (is_of_many_rows(shape) && shape.rows * shape.n <= most_logits) shapes.push_back(shape);
    if (!is_of_many_rows(shape) && shape.rows * shape.n <= few_logits) others.push_back(shape);
  }
  const auto longest = std::ranges::max_element(known_rows(), {}, &KnownRows::n);
  if (longest->n <= most_items) shapes.push_back(*longest);
  Draw draw(seed);
  for (std::size_t k = 0; k < drawn && !others.empty(); ++k) {
    const auto place = others.begin() + static_cast<std::ptrdiff_t>(draw.below(others.size()));
    shapes.push_back(*place);
    others.erase(place);
  }
  return shapes;
}

std::vector<RowMatrixCase> reaching_matrices(numerics::Format format, double most) {
  std::vector<RowMatrixCase> result;
  const auto add = [&](std::uint64_t columns, double magnitude, std::vector<RunLengthRow> rows) {
    if (magnitude > most) return;
    for (const MaskUse mask : {MaskUse::none, MaskUse::tensor, MaskUse::mixed}) {
      RowMatrixCase matrix;
      matrix.format = format;
      matrix.columns = columns;
      matrix.rows = RowCycle(rows);
      matrix.mask = mask;
      matrix.family = "listed";
      result.push_back(std::move(matrix));
    }
  };
  // The lowest number, which stands for minus infinity in many programs. Of two equal items no sum overflows.
  const double largest = numerics::properties(format).largest;
  add(3, largest, {rows_at(3, largest).front()});
  for (const std::uint64_t columns : {3, 40, 300}) {
    for (const double magnitude : magnitudes_of(format)) add(columns, magnitude, rows_at(columns, magnitude));
  }
  return result;
}

}  // namespace softcheck::proptests
