#include "proptests/judge/row_call.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <optional>
#include <utility>
#include <vector>

#include "numerics/special_values.hpp"
#include "proptests/generators/row_families.hpp"
#include "proptests/judge/ops/row_op.hpp"

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

// Any byte but 0 says that an item is there. All come up in a row of 255; in short ones the four that are most often
// taken for something else.
double byte_of_visible(std::size_t element) {
  static constexpr std::array<double, 4> first{1, 255, 2, 128};
  const std::size_t k = element % 255;
  if (k < first.size()) return first[k];
  return static_cast<double>(k < 129 ? k - 1 : k);  // 3 to 127, then 129 to 254
}

TensorPlace output_place(const RowMatrixCase& matrix, Op op, numerics::Format format) {
  TensorPlace place = place_of(format, matrix, matrix.out);
  if (!op->one_value_per_row) return place;
  place.shape.pop_back();
  if (place.strides.empty()) return place;
  place.strides.pop_back();
  // Rows side by side are values side by side.
  const auto columns = static_cast<std::int64_t>(matrix.columns);
  if (matrix.out.row_stride == columns && matrix.out.column_stride == 1) place.strides[0] = 1;
  return place;
}

// What stands beside the logits: laid out as a mask would be, of which such an op has none; one value a row compact.
void add_beside(const RowMatrixCase& matrix, Op op, TensorCall& call) {
  const std::span<const OpInput> inputs = op->inputs;
  std::vector<std::vector<double>> values(inputs.size());
  for (std::size_t r = 0; r < matrix.rows.size(); ++r) {
    const std::vector<std::vector<double>> of_row = inputs_of(matrix, op, r);
    for (std::size_t k = 0; k < inputs.size(); ++k) {
      values[k].insert(values[k].end(), of_row[k].begin(), of_row[k].end());
    }
  }
  call.inputs[0].values = std::move(values[0]);
  for (std::size_t k = 1; k < inputs.size(); ++k) {
    TensorPlace place = place_of(matrix.format, matrix, matrix.visible);
    if (inputs[k].extent == Extent::rows) {
      place = place_of(matrix.format, matrix, {});
      place.shape.pop_back();
    }
    if (inputs[k].is_index) {
      place.format.reset();
      place.integer_bits = matrix.beside / 64 % 2 == 0 ? 64 : 32;
    }
    call.inputs.push_back({place, std::move(values[k]), {}});
  }
}

}  // namespace

std::size_t special_input(const RowMatrixCase& matrix, Op op, std::size_t row) {
  const std::span<const OpInput> inputs = op->inputs;
  const bool has_second = inputs.size() > 1 && inputs[1].extent == Extent::items && !inputs[1].is_index;
  return has_second && beside_of_row(matrix.beside, row) / 64 % 2 == 1 ? 1 : 0;
}

std::vector<std::vector<double>> inputs_of(const RowMatrixCase& matrix, Op op, std::size_t row) {
  return op.rows().input_values(matrix.format, matrix.rows[row].expand(), beside_of_row(matrix.beside, row));
}

TensorCall call_of(const RowMatrixCase& matrix, Op op, numerics::Format output, const CallForm& form) {
  const double largest = numerics::properties(matrix.format).largest;
  const std::array<double, 4> wild{nan, largest, infinity, -largest}, tame{largest, -largest, largest, -largest};
  const std::array<double, 4>& junk = form.finite ? tame : wild;
  std::vector<double> logits, visible;
  logits.reserve(size_of(matrix));
  std::size_t hidden = 0;
  for (std::size_t r = 0; r < matrix.rows.size(); ++r) {
    for (const Run& run : matrix.rows[r].runs()) {
      const bool gone = std::isinf(run.value);
      for (std::uint64_t i = 0; i < run.count; ++i) {
        if (gone) ++hidden;
        const bool by_mask =
            gone && (matrix.mask == MaskUse::tensor || (matrix.mask == MaskUse::mixed && hidden % 2 == 1));
        logits.push_back(by_mask ? junk[hidden % junk.size()] : run.value);
        if (matrix.mask != MaskUse::none) visible.push_back(by_mask ? 0 : byte_of_visible(visible.size()));
      }
    }
  }
  TensorCall call;
  call.theta = matrix.theta;
  call.inputs.push_back({place_of(matrix.format, matrix, matrix.in), std::move(logits), {}});
  if (op->number != 0) {
    call.op = op->number;
    for (const OpInput& input : op->inputs) call.roles.push_back(input.role);
    call.attributes = op.rows().attributes(matrix.beside);
    add_beside(matrix, op, call);
  }
  for (const SpecialLogit& one : matrix.specials) {
    InputTensor& input = call.inputs[special_input(matrix, op, one.row)];
    input.patterns[one.row * matrix.columns + one.item] = one.bits;
  }
  if (matrix.mask != MaskUse::none) {
    call.inputs.push_back({place_of(std::nullopt, matrix, matrix.visible), std::move(visible), {}});
  }
  for (InputTensor& input : call.inputs) input.place.alignment = form.alignment;
  if (form.in_place) {
    call.outputs.push_back({call.inputs[0].place, 0});
  } else {
    call.outputs.push_back({output_place(matrix, op, output), std::nullopt});
    call.outputs[0].place.alignment = form.alignment;
  }
  return call;
}

bool has_labels(Op op) {
  return std::ranges::any_of(op->inputs, [](const OpInput& input) { return input.role == Role::labels; });
}

CallTraits traits_of(const RowMatrixCase& matrix, Op op) {
  CallTraits traits = traits_of(matrix);
  if (!has_labels(op)) return traits;
  const Attributes attributes = op.rows().attributes(matrix.beside);
  traits.label_smoothing = attributes.label_smoothing;
  traits.z_loss = attributes.z_loss;
  traits.ignore_index = attributes.ignore_index;
  return traits;
}

std::uint64_t alignment_of(const TensorCall& call) {
  constexpr std::size_t page = 4096;
  std::uint64_t alignment = page;
  const auto add = [&](const TensorPlace& place) {
    const std::size_t bytes = place.aligned_bytes() % page;
    if (place.against_the_end && bytes != 0) alignment = std::min<std::uint64_t>(alignment, bytes & (~bytes + 1));
  };
  for (const InputTensor& input : call.inputs) add(input.place);
  for (const OutputTensor& output : call.outputs) add(output.place);
  return alignment;
}

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
  matrix.family.clear();  // logits that are so much smaller are of another kind
  return matrix;
}

RowMatrixCase all_visible(RowMatrixCase matrix) {
  matrix.rows.replace_each([](const RunLengthRow& row) {
    if (row.visible() == 0) return row;
    std::vector<Run> runs = row.runs();
    for (Run& run : runs) run.value = std::isinf(run.value) ? row.minimum() : run.value;
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
