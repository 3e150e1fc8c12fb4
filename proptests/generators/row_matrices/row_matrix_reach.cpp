// Matrices whose logits reach the range of their format.
#include <algorithm>
#include <array>
#include <cmath>

#include "numerics/formats/special_values.hpp"
#include "proptests/generators/row_matrices/known_matrices.hpp"

namespace softcheck::proptests {
namespace {

using numerics::infinity;

/// Beyond 6e4, 1e5, 1e9 and 1e30, which kernels take for infinity; and near the end of the format.
std::vector<double> magnitudes_of(numerics::Format format) {
  const numerics::FormatProperties& facts = numerics::properties(format);
  std::vector<double> magnitudes{0x1.ep+15, 0x1p+17, 0x1p+31, 0x1p+101};
  std::erase_if(magnitudes, [&](double magnitude) { return magnitude > facts.largest; });
  const double top = std::ldexp(1.5, facts.max_exponent - 1);
  if (magnitudes.empty() || top > magnitudes.back()) magnitudes.push_back(top);
  return magnitudes;
}

/// magnitude times what the item says; hidden where that is -inf.
template <class Item>
RunLengthRow row_of(std::uint64_t columns, double magnitude, Item item) {
  std::vector<Run> runs;
  for (std::uint64_t i = 0; i < columns; ++i) runs.push_back({magnitude * item(i), 1});
  return RunLengthRow(std::move(runs));
}

/// Rows far below 0, with and without hidden items, and rows that end far above where they begin.
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

std::vector<RowMatrixCase> reaching_matrices(numerics::Format format, double most) {
  std::vector<RowMatrixCase> result;
  for (const std::uint64_t columns : {3, 40, 300}) {
    for (const double magnitude : magnitudes_of(format)) {
      if (magnitude > most) continue;
      for (const MaskUse mask : {MaskUse::none, MaskUse::tensor, MaskUse::mixed}) {
        RowMatrixCase matrix;
        matrix.format = format;
        matrix.columns = columns;
        matrix.rows = RowCycle(rows_at(columns, magnitude));
        matrix.mask = mask;
        matrix.family = "listed";
        result.push_back(std::move(matrix));
      }
    }
  }
  return result;
}

}  // namespace softcheck::proptests
