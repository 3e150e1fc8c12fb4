#include "proptests/judge/row_call.hpp"

#include <array>
#include <cmath>
#include <optional>
#include <utility>
#include <vector>

#include "numerics/special_values.hpp"
#include "proptests/generators/row_families.hpp"

namespace softcheck::proptests {
namespace {

using numerics::infinity;
using numerics::nan;

TensorPlace place_of(std::optional<numerics::Format> format, const RowMatrixCase& matrix, const MatrixLayout& layout) {
  TensorPlace place;
  place.format = format;
  place.shape = {static_cast<std::int64_t>(matrix.rows.size()), static_cast<std::int64_t>(matrix.columns)};
  if (!layout.compact()) place.strides = {layout.row_stride, layout.column_stride};
  place.offset = layout.offset;
  place.against_the_end = layout.against_the_end;
  return place;
}

TensorPlace output_place(const RowMatrixCase& matrix, Op op, numerics::Format format) {
  TensorPlace place = place_of(format, matrix, matrix.out);
  if (!is_row_scalar(op)) return place;
  place.shape.pop_back();
  if (!place.strides.empty()) place.strides.pop_back();
  return place;
}

}  // namespace

TensorCall call_of(const RowMatrixCase& matrix, Op op, numerics::Format output, bool in_place) {
  const double largest = numerics::properties(matrix.format).largest;
  const std::array<double, 4> junk{nan, largest, infinity, -largest};
  constexpr std::array<double, 4> seen{1, 255, 2, 128};
  std::vector<double> logits, visible;
  logits.reserve(size_of(matrix));
  std::size_t hidden = 0;
  for (const RunLengthRow& row : matrix.rows) {
    for (const double logit : row.expand()) {
      const bool gone = std::isinf(logit) && ++hidden > 0;
      const bool by_mask =
          gone && (matrix.mask == MaskUse::tensor || (matrix.mask == MaskUse::mixed && hidden % 2 == 1));
      logits.push_back(by_mask ? junk[hidden % junk.size()] : logit);
      if (matrix.mask != MaskUse::none) visible.push_back(by_mask ? 0 : seen[visible.size() % seen.size()]);
    }
  }
  TensorCall call;
  call.theta = matrix.theta;
  call.inputs.push_back({place_of(matrix.format, matrix, matrix.in), std::move(logits)});
  if (matrix.mask != MaskUse::none) {
    call.inputs.push_back({place_of(std::nullopt, matrix, matrix.visible), std::move(visible)});
  }
  if (in_place) {
    call.outputs.push_back({call.inputs[0].place, 0});
  } else {
    call.outputs.push_back({output_place(matrix, op, output), std::nullopt});
  }
  return call;
}

RowMatrixCase plain_form(const RowMatrixCase& matrix) {
  RowMatrixCase plain = matrix;
  for (RunLengthRow& row : plain.rows) {
    std::vector<Run> runs = row.runs();
    for (Run& run : runs) {
      const double scaled = into_format(plain.format, run.value / plain.theta);
      if (std::isfinite(scaled)) run.value = scaled;
    }
    row = RunLengthRow(std::move(runs));
  }
  plain.theta = 1;
  plain.mask = MaskUse::none;
  plain.in = plain.out = plain.visible = {};
  return plain;
}

std::string kind_of(const RowMatrixCase& matrix) {
  if (size_of(matrix) == 0) return "on nothing";
  if (matrix.mask != MaskUse::none) return "with a mask";
  for (const MatrixLayout* layout : {&matrix.in, &matrix.out}) {
    if (layout->row_stride == 1 && layout->column_stride > 1) return "with columns closer together than rows";
    if (layout->column_stride > 1) return "with a column stride";
    if (layout->row_stride > static_cast<std::int64_t>(matrix.columns)) return "with a row gap";
  }
  if (matrix.theta != 1) return "at theta != 1";
  return matrix.rows.size() == 1 ? "with one compact row" : "with compact rows";
}

}  // namespace softcheck::proptests
