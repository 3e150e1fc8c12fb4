#include "judge/ops/rows/matrix_features.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <utility>

#include "proptests/generators/rows/row_families.hpp"

namespace softcheck::proptests {
namespace {

RowMatrixCase scaled_to_unit_theta(RowMatrixCase matrix) {
  matrix.rows.replace_each([&](const RunLengthRow& row) {
    std::vector<Run> runs = row.runs();
    for (Run& run : runs) {
      const double scaled = into_format(matrix.format, run.value / matrix.theta);
      if (std::isfinite(scaled)) run.value = scaled;
    }
    return RunLengthRow(std::move(runs));
  });
  matrix.theta = 1;
  matrix.family.clear();  // so much smaller, the logits no longer belong to the family
  return matrix;
}

RowMatrixCase all_visible(RowMatrixCase matrix) {
  matrix.rows.replace_each([](const RunLengthRow& row) {
    if (row.visible() == 0) return row;
    std::vector<Run> runs = row.runs();
    const double lowest = row.minimum();  // computed once, since it reads all runs
    for (Run& run : runs) run.value = std::isinf(run.value) ? lowest : run.value;
    return RunLengthRow(std::move(runs));
  });
  return matrix;
}

bool has_column_stride(const MatrixLayout& layout) { return !layout.compact() && layout.column_stride != 1; }

void compact_columns(MatrixLayout& layout) {
  if (has_column_stride(layout)) layout.row_stride = layout.column_stride = 0;
}

}  // namespace

unsigned features_of(const RowMatrixCase& matrix) {
  const bool hidden =
      std::ranges::any_of(matrix.rows.cycle(), [](const RunLengthRow& row) { return row.visible() < row.size(); });
  unsigned features = 0;
  for (const SpecialLogit& one : matrix.specials) {
    features |= is_infinite(one, matrix.format) ? plus_infinities : some_nans;
  }
  if (matrix.mask != MaskUse::none) features |= a_mask;
  if (hidden && matrix.mask != MaskUse::tensor) features |= infinities;
  if (matrix.theta != 1) features |= a_theta;
  for (const MatrixLayout* layout : {&matrix.in, &matrix.out, &matrix.visible}) {
    if (has_column_stride(*layout)) features |= column_strides;
    if ((!layout->compact() && !has_column_stride(*layout)) || layout->offset > 0) features |= gaps;
  }
  return features;
}

RowMatrixCase without(RowMatrixCase matrix, unsigned features) {
  std::erase_if(matrix.specials, [&](const SpecialLogit& one) {
    return (features & (is_infinite(one, matrix.format) ? plus_infinities : some_nans)) != 0;
  });
  if ((features & infinities) != 0) {
    matrix = all_visible(std::move(matrix));
    if (matrix.mask == MaskUse::mixed) matrix.mask = MaskUse::tensor;
  }
  if ((features & a_mask) != 0) {
    matrix.mask = MaskUse::none;
    matrix.visible = {};
  }
  for (MatrixLayout* layout : {&matrix.in, &matrix.out, &matrix.visible}) {
    if ((features & column_strides) != 0) compact_columns(*layout);
    if ((features & gaps) != 0 && !has_column_stride(*layout)) *layout = {};
  }
  if ((features & a_theta) != 0) matrix = scaled_to_unit_theta(std::move(matrix));
  return matrix;
}

RowMatrixCase plain_form(const RowMatrixCase& matrix) { return all_visible(without(matrix, features_of(matrix))); }

std::vector<unsigned> simpler_forms(const RowMatrixCase& matrix) {
  const unsigned all = features_of(matrix);
  std::vector<unsigned> choices;
  for (unsigned features = 1; features < all; ++features) {
    if ((features & ~all) == 0) choices.push_back(features);
  }
  std::ranges::stable_sort(choices, {}, [](unsigned features) { return std::popcount(features); });
  return choices;
}

CallKind kind_of(const RowMatrixCase& matrix) {
  if (size_of(matrix) == 0) return "on nothing";
  if (matrix.mask != MaskUse::none) return "with a mask";
  if (!matrix.specials.empty()) {
    return is_infinite(matrix.specials[0], matrix.format) ? "with an infinite logit" : "with a NaN";
  }
  for (const MatrixLayout* layout : {&matrix.in, &matrix.out}) {
    if (layout->row_stride == 1 && layout->column_stride > 1) return "with columns closer together than rows";
    if (layout->column_stride > 1) return "with a column stride";
    if (layout->row_stride > static_cast<std::int64_t>(matrix.columns)) return "with a row gap";
  }
  if (matrix.theta != 1) return "at theta != 1";
  return {matrix.rows.size() == 1 ? "with one compact row" : "with compact rows", true};
}

}  // namespace softcheck::proptests
