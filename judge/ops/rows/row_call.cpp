#include "judge/ops/rows/row_call.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "judge/ops/rows/row_op.hpp"
#include "numerics/enclosures/interruption.hpp"
#include "numerics/formats/format.hpp"
#include "numerics/formats/special_values.hpp"

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

// The place of vectors whose outer dimensions have this shape. The matrix layout's gaps and strides between rows and
// columns apply to vectors and their numbers, so the vectors are compact or contiguous if the matrix is, as the call's
// traits claim.
TensorPlace place_of_vectors(numerics::Format format, std::vector<std::int64_t> shape, std::size_t width,
                             const MatrixLayout& layout, std::uint64_t columns) {
  TensorPlace place;
  place.format = format;
  place.shape = std::move(shape);
  place.shape.push_back(static_cast<std::int64_t>(width));
  place.offset = layout.offset;
  place.against_the_end = layout.against_the_end;
  if (layout.compact()) return place;
  const bool touching = layout.row_stride == static_cast<std::int64_t>(columns) && layout.column_stride == 1;
  const std::int64_t gap = touching ? 0 : 3;
  std::int64_t stride = layout.column_stride != 1 && columns > 1 ? 2 : 1;
  for (std::size_t d = place.shape.size(); d-- > 0;) {
    place.strides.insert(place.strides.begin(), stride);
    stride = std::max<std::int64_t>(place.shape[d], 1) * stride + gap;
  }
  return place;
}

// Transposes (rows, n) to (n, rows). A contiguous matrix keeps innermost stride 1; the gap behind a row becomes the gap
// behind an item's rows, so a compact matrix stays compact.
void put_items_first(InputTensor& tensor) {
  const auto rows = static_cast<std::size_t>(tensor.place.shape[0]),
             n = static_cast<std::size_t>(tensor.place.shape[1]);
  std::vector<double> values;
  values.reserve(tensor.values.size());
  for (std::size_t at = 0; at < rows * n; ++at) values.push_back(tensor.values[at % rows * n + at / rows]);
  std::map<std::size_t, std::uint64_t> patterns;
  for (const auto& [at, bits] : tensor.patterns) patterns[at % n * rows + at / n] = bits;
  tensor.values = std::move(values);
  tensor.patterns = std::move(patterns);
  std::ranges::reverse(tensor.place.shape);
  std::vector<std::int64_t>& strides = tensor.place.strides;
  if (strides.empty() || strides[1] != 1) {
    std::ranges::reverse(strides);
    return;
  }
  // Keep the total size of all gaps: gaps of rows more than 2^31 elements apart already fill the address space.
  const std::int64_t items = tensor.place.shape[0], count = tensor.place.shape[1];
  const std::int64_t gaps = std::max<std::int64_t>(strides[0] - items, 0) * std::max<std::int64_t>(count - 1, 1);
  const std::int64_t places = std::max<std::int64_t>(items - 1, 1);
  strides = {count + (gaps + places - 1) / places, 1};
}

// Any nonzero byte marks a visible item. A row of 255 items has all of them; short rows have the four that kernels most
// often misread.
double byte_of_visible(std::size_t element) {
  static constexpr std::array<double, 4> first{1, 255, 2, 128};
  const std::size_t k = element % 255;
  return k < first.size() ? first[k] : static_cast<double>(k < 129 ? k - 1 : k);  // 3 to 127, then 129 to 254
}

// The place of a tensor with one number per row: a column of the matrix's place. Its only stride is 1 if the matrix is
// contiguous.
//
// more   added to the stride, so that a kernel that uses one tensor's stride for another reads wrong numbers
TensorPlace place_of_rows(TensorPlace place, const MatrixLayout& layout, std::size_t more = 0) {
  place.shape.pop_back();
  if (place.strides.empty()) return place;
  place.strides.pop_back();
  place.strides[0] = layout.column_stride == 1 ? 1 : place.strides[0] + static_cast<std::int64_t>(more);
  return place;
}

TensorPlace output_place(const RowMatrixCase& matrix, Extent extent, std::size_t width, numerics::Format format) {
  if (extent == Extent::vectors) {
    return place_of_vectors(format, {static_cast<std::int64_t>(matrix.rows.size())}, width, matrix.out, matrix.columns);
  }
  TensorPlace place = place_of(format, matrix, matrix.out);
  return extent == Extent::items ? place : place_of_rows(std::move(place), matrix.out);
}

// The other inputs have the layout of a mask; such ops have no mask.
void add_other_inputs(const RowMatrixCase& matrix, Op op, numerics::Format format, InputsOfRows& inputs_of_row,
                      TensorCall& call) {
  const std::span<const OpInput> inputs = op->inputs;
  const std::size_t rows = matrix.rows.size(), width = op.rows().width(matrix.columns, matrix.auxiliary);
  std::vector<std::vector<double>> values(inputs.size());
  std::vector<const std::vector<double>*> vectors(rows);  // per row, item by item
  for (std::size_t r = 0; r < rows; ++r) {
    numerics::throw_if_interrupted();
    const std::vector<std::vector<double>>& of_row = inputs_of_row.at(r);
    for (std::size_t k = 0; k < inputs.size(); ++k) {
      if (inputs[k].extent == Extent::vectors) {
        vectors[r] = &of_row[k];
      } else if (inputs[k].extent == Extent::classes || inputs[k].extent == Extent::call) {
        values[k] = of_row[k];  // equal in every row
      } else {
        values[k].insert(values[k].end(), of_row[k].begin(), of_row[k].end());
      }
    }
  }
  call.inputs[0].values = std::move(values[0]);
  for (std::size_t k = 1; k < inputs.size(); ++k) {
    if (!op.rows().has_input(k, matrix.auxiliary)) continue;
    TensorPlace place = place_of(inputs[k].is_wide ? wide_format(format) : format, matrix, matrix.visible);
    if (inputs[k].extent == Extent::classes) {
      place.shape.erase(place.shape.begin());
      if (!place.strides.empty()) place.strides.erase(place.strides.begin());
      values[k].resize(matrix.columns);  // for a call without rows
    }
    if (inputs[k].extent == Extent::rows) place = place_of_rows(std::move(place), matrix.visible, k - 1);
    if (inputs[k].extent == Extent::call) {
      place = place_of(format, matrix, {});
      place.shape = {1};
      values[k].resize(1);  // for a call without rows
    }
    if (inputs[k].extent == Extent::vectors) {
      place = place_of_vectors(format, {static_cast<std::int64_t>(matrix.columns), static_cast<std::int64_t>(rows)},
                               width, matrix.visible, matrix.columns);
      values[k].reserve(matrix.columns * rows * width);
      for (std::size_t i = 0; i < matrix.columns; ++i) {
        numerics::throw_if_interrupted();
        for (const std::vector<double>* row : vectors) {
          for (std::size_t c = 0; c < width; ++c) values[k].push_back((*row)[i * width + c]);
        }
      }
    }
    if (inputs[k].is_index) {
      place.format.reset();
      const bool wide = std::abs(call.attributes.ignore_index) > INT32_MAX;
      place.integer_bits = wide || matrix.auxiliary / 64 % 2 == 0 ? 64 : 32;
    }
    call.inputs.push_back({place, std::move(values[k]), {}});
  }
}

bool has_role(Op op, Role role) {
  return std::ranges::any_of(op->inputs, [role](const OpInput& input) { return input.role == role; });
}

}  // namespace

std::size_t special_input(const RowMatrixCase& matrix, Op op, std::size_t row) {
  const std::span<const OpInput> inputs = op->inputs;
  const bool has_second = inputs.size() > 1 && inputs[1].extent == Extent::items && !inputs[1].is_index;
  return has_second && auxiliary_of_row(matrix.auxiliary, row) / 64 % 2 == 1 ? 1 : 0;
}

std::vector<std::vector<double>> inputs_of(const RowMatrixCase& matrix, Op op, numerics::Format input,
                                           std::size_t row) {
  return op.rows().input_values(input, matrix.rows[row].expand(), auxiliary_of_row(matrix.auxiliary, row));
}

CallOfRows rows_of_call(const RowMatrixCase& matrix, Op op, const numerics::Contract& contract) {
  const Attributes attributes = op.rows().attributes(matrix.auxiliary, matrix.columns);
  const auto each = [&matrix, op, &contract, attributes](const std::function<void(const RowInputs&)>& visit) {
    auto special = matrix.specials.begin();
    InputsOfRows inputs_of_row(matrix, op, contract.input);
    for (std::size_t r = 0; r < matrix.rows.size(); ++r) {
      std::vector<std::vector<double>> inputs = inputs_of_row.at(r);
      for (; special != matrix.specials.end() && special->row == r; ++special)
        inputs[0][special->item] = is_infinite(*special, matrix.format) ? infinity : nan;
      visit({contract, inputs[0], matrix.theta, std::span(inputs).subspan(1), attributes});
    }
  };
  return {contract, attributes, each};
}

std::vector<double> by_row(const std::vector<std::vector<double>>& outputs, std::size_t rows) {
  if (outputs.size() == 1 || rows == 0) return outputs[0];
  std::vector<double> result;
  for (std::size_t r = 0; r < rows; ++r) {
    for (const std::vector<double>& output : outputs) {
      const std::size_t each = output.size() / rows;
      const std::span<const double> row = std::span(output).subspan(r * each, each);
      result.insert(result.end(), row.begin(), row.end());
    }
  }
  return result;
}

InputTensor& drawn_rows(TensorCall& call, Op op) { return call.inputs[op->is_of_states() ? op->inputs.size() - 1 : 0]; }

InputsOfRows::InputsOfRows(const RowMatrixCase& matrix, Op op, numerics::Format input)
    : rows_(matrix.rows), auxiliary_(matrix.auxiliary), op_(op), input_(input) {}

bool InputsOfRows::are_of(const RowMatrixCase& matrix) const {
  return matrix.auxiliary == auxiliary_ && matrix.rows == rows_;
}

const std::vector<std::vector<double>>& InputsOfRows::at(std::size_t row) {
  const std::uint64_t auxiliary = auxiliary_of_row(auxiliary_, row);
  std::vector<std::vector<double>>& inputs = known_[{rows_.first_like(row), auxiliary}];
  if (inputs.empty()) inputs = op_.rows().input_values(input_, rows_[row].expand(), auxiliary);
  return inputs;
}

TensorCall call_of(const RowMatrixCase& matrix, Op op, const CallFormats& formats, const CallForm& form) {
  InputsOfRows inputs(matrix, op, formats.input);
  return call_of(matrix, op, formats, form, inputs);
}

TensorCall call_of(const RowMatrixCase& matrix, Op op, const CallFormats& formats, const CallForm& form,
                   InputsOfRows& inputs) {
  const Hiding hiding(matrix, form);
  std::vector<double> logits, visible;
  logits.reserve(size_of(matrix));
  std::size_t hidden = 0;
  for (std::size_t r = 0; r < matrix.rows.size(); ++r) {
    for (const Run& run : matrix.rows[r].runs()) {
      const bool gone = std::isinf(run.value);
      for (std::uint64_t i = 0; i < run.count; ++i) {
        if (gone) ++hidden;
        const bool by_mask = gone && hiding.by_mask(hidden);
        logits.push_back(by_mask ? hiding.number(hidden) : run.value);
        if (matrix.mask != MaskUse::none) visible.push_back(by_mask ? 0 : byte_of_visible(visible.size()));
      }
    }
  }
  TensorCall call;
  call.theta = matrix.theta;
  call.inputs.push_back({place_of(matrix.format, matrix, matrix.in), std::move(logits), {}});
  if (op->number != 0) {
    call.op = op->number;
    for (std::size_t k = 0; k < op->inputs.size(); ++k) {
      if (op.rows().has_input(k, matrix.auxiliary)) call.roles.push_back(op->inputs[k].role);
    }
    call.attributes = op.rows().attributes(matrix.auxiliary, matrix.columns);
    add_other_inputs(matrix, op, formats.input, inputs, call);
  }
  for (const SpecialLogit& one : matrix.specials) {
    InputTensor& input = call.inputs[special_input(matrix, op, one.row)];
    input.patterns[one.row * matrix.columns + one.item] = one.bits;
  }
  if (op->is_of_states()) {
    put_items_first(call.inputs[0]);
    std::rotate(call.inputs.begin(), call.inputs.begin() + 1, call.inputs.end());
    std::rotate(call.roles.begin(), call.roles.begin() + 1, call.roles.end());
  }
  if (matrix.mask != MaskUse::none) {
    call.inputs.push_back({place_of(std::nullopt, matrix, matrix.visible), std::move(visible), {}});
  }
  for (InputTensor& input : call.inputs) input.place.alignment = form.alignment;
  const Extent only[] = {op->one_value_per_row ? Extent::rows : Extent::items};
  const std::span<const Extent> extents = op->extents.empty() ? std::span<const Extent>(only) : op->extents;
  const std::size_t width = op.rows().width(matrix.columns, matrix.auxiliary);
  for (std::size_t k = 0; k < extents.size(); ++k) {
    if (form.in_place_of) {  // of merges: each output in the memory of the first part
      const std::size_t input = *form.in_place_of + k;
      TensorPlace place = call.inputs[input].place;
      if (op->is_of_states()) {
        place.shape.erase(place.shape.begin());
        if (!place.strides.empty()) place.strides.erase(place.strides.begin());
      }
      call.outputs.push_back({place, input});
      continue;
    }
    const Extent extent = extents[k];
    const bool of_several = extent == Extent::rows && extents.size() > 1;
    const numerics::Format format = of_several ? wide_format(formats.input) : formats.output;
    call.outputs.push_back({output_place(matrix, extent, width, format), std::nullopt});
    if (has_one_value(op)) {
      call.outputs.back().place.shape = {1};
      call.outputs.back().place.strides.clear();
    }
    TensorPlace& place = call.outputs.back().place;
    place.alignment = form.alignment;
    if (!op->elements.empty() && op->elements[k] == OutputElement::index) {
      place.format.reset();
      place.integer_bits = 32;
    }
  }
  return call;
}

std::optional<std::size_t> out_gradient_of(Op op) {
  const auto found = std::ranges::find(op->inputs, Role::out_gradient, &OpInput::role);
  if (op->is_attention() || found == op->inputs.end()) return std::nullopt;
  return static_cast<std::size_t>(found - op->inputs.begin());
}

bool has_labels(Op op) { return has_role(op, Role::labels); }
bool is_loss(Op op) { return has_labels(op) || has_role(op, Role::targets); }
bool is_divergence(Op op) { return has_role(op, Role::teacher); }

CallTraits traits_of(const RowMatrixCase& matrix, Op op) {
  CallTraits traits = traits_of(matrix);
  const Attributes attributes = op.rows().attributes(matrix.auxiliary, matrix.columns);
  traits.lse_base2 = attributes.lse_base2;
  traits.renormalize = attributes.renormalize;
  traits.mean = attributes.mean;
  traits.reverse = attributes.reverse;
  traits.top_p = attributes.top_p;
  traits.min_p = attributes.min_p;
  if (attributes.k != 0 && !op->filters) traits.lengths["k"] = static_cast<std::uint64_t>(attributes.k);
  if (attributes.groups != 0) {
    traits.lengths["groups"] = static_cast<std::uint64_t>(attributes.groups);
    traits.lengths["kept"] = static_cast<std::uint64_t>(attributes.groups_kept);
    traits.lengths["group_items"] = static_cast<std::uint64_t>(attributes.group_items);
  }
  traits.sigmoid = attributes.sigmoid;
  traits.routed_scale = attributes.routed_scale;
  traits.bias = op->inputs.size() > 1 && op->inputs[1].role == Role::bias && op.rows().has_input(1, matrix.auxiliary);
  traits.unwritten = op->number == SOFTCHECK_OP_MERGE_STATES && traits.infinite && (matrix.auxiliary & domain_bit) == 0;
  if (is_loss(op)) {
    traits.z_loss = attributes.z_loss;
    traits.softcap = attributes.softcap != 0;
  }
  if (!has_labels(op)) return traits;
  traits.label_smoothing = attributes.label_smoothing;
  traits.ignore_index = attributes.ignore_index;
  traits.ignored = (matrix.auxiliary & domain_bit) == 0 || matrix.columns == 0;
  for (std::size_t k = 0; k < op->inputs.size(); ++k) {
    traits.class_weights |= op->inputs[k].role == Role::class_weights && op.rows().has_input(k, matrix.auxiliary);
  }
  return traits;
}

Hiding::Hiding(const RowMatrixCase& matrix, const CallForm& form) : mask_(matrix.mask) {
  const double largest = numerics::properties(matrix.format).largest;
  if (form.finite) {
    numbers_ = {largest, -largest, largest, -largest};
  } else {
    numbers_ = {numerics::nan, largest, numerics::infinity, -largest};
  }
}

std::vector<HiddenNumber> hidden_numbers(const RowMatrixCase& matrix, std::size_t row, const CallForm& form) {
  std::vector<HiddenNumber> numbers;
  if (matrix.mask == MaskUse::none) return numbers;
  const Hiding hiding(matrix, form);
  std::size_t hidden = 0;
  for (std::size_t r = 0; r < row; ++r) hidden += matrix.rows[r].size() - matrix.rows[r].visible();
  std::size_t item = 0;
  for (const Run& run : matrix.rows[row].runs()) {
    for (std::uint64_t i = 0; i < run.count; ++i, ++item) {
      if (!std::isinf(run.value)) continue;
      if (hiding.by_mask(++hidden)) numbers.push_back({item, hiding.number(hidden)});
    }
  }
  return numbers;
}

}  // namespace softcheck::proptests
