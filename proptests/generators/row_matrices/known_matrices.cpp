#include "proptests/generators/row_matrices/known_matrices.hpp"

#include <algorithm>

#include "proptests/generators/drawing/draw.hpp"

namespace softcheck::proptests {
namespace {

constexpr std::uint64_t most_apart = 1024;  // items that each have a level of their own

/// Levels between -4 and 4 in an order that changes with the row; the last item is the largest of every second row.
RunLengthRow row_of(numerics::Format format, std::uint64_t columns, std::uint64_t row) {
  constexpr double step = 0x1p-6;
  const std::uint64_t items = std::min(columns, most_apart);
  std::vector<Run> runs;
  std::uint64_t begin = 0;
  for (std::uint64_t k = 0; k < items; ++k) {
    const std::uint64_t end = columns * (k + 1) / items;
    // 37 and its multiples have no factor in common with the 512 levels.
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

bool is_of_many_rows(const KnownRows& shape) { return shape.rows > 2048; }

}  // namespace

RowMatrixCase known_matrix(numerics::Format format, const KnownRows& shape) {
  RowMatrixCase matrix;
  matrix.format = format;
  matrix.columns = shape.n;
  // No power of two is a multiple of these. Each row that differs is judged by itself.
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
  // Inside, at the edge and beyond it, as far as the format tells them apart.
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

std::vector<KnownRows> chosen_rows(std::uint64_t most_items) {
  std::vector<KnownRows> shapes(known_rows().begin(), known_rows().end());
  std::erase_if(shapes, [&](const KnownRows& shape) { return shape.n > most_items; });
  return shapes;
}

std::vector<KnownRows> chosen_rows(std::uint64_t most_items, std::uint64_t few_logits, std::size_t drawn,
                                   std::uint64_t seed) {
  std::vector<KnownRows> shapes, others;
  for (const KnownRows& shape : chosen_rows(most_items)) {
    if (shape.rows * shape.n > few_logits) continue;
    (is_of_many_rows(shape) ? shapes : others).push_back(shape);
  }
  Draw draw(seed);
  for (std::size_t k = 0; k < drawn && !others.empty(); ++k) {
    const auto place = others.begin() + static_cast<std::ptrdiff_t>(draw.below(others.size()));
    shapes.push_back(*place);
    others.erase(place);
  }
  return shapes;
}

}  // namespace softcheck::proptests
