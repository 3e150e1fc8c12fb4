#include "proptests/tests/judge/kernel_call.hpp"

#include <algorithm>
#include <optional>
#include <stdexcept>
#include <string>

namespace softcheck::proptests {
namespace {

TensorPlace place_of(std::optional<numerics::Format> format, std::int64_t rows, std::int64_t columns,
                     const Layout& layout) {
  if (layout.column_stride < 1 || layout.row_gap < 0 || layout.offset < 0) {
    throw std::invalid_argument("KernelCall: need column_stride >= 1, row_gap >= 0 and offset >= 0");
  }
  TensorPlace place;
  place.format = format;
  place.shape = {rows, columns};
  // NULL means compact: half of the kernels forget it, so it is what a compact matrix passes. A kernel may divide by a
  // stride, and tensors must have positive ones: an empty row has the stride of a row of one.
  const std::int64_t row_stride = std::max<std::int64_t>(columns, 1) * layout.column_stride + layout.row_gap;
  if (layout.column_stride != 1 || layout.row_gap != 0) place.strides = {row_stride, layout.column_stride};
  place.offset = layout.offset;
  place.against_the_end = layout.against_the_end;
  return place;
}

TensorPlace column_of(numerics::Format format, std::int64_t rows, const Layout& layout) {
  TensorPlace place = place_of(format, rows, 1, layout);
  place.shape.pop_back();
  if (!place.strides.empty()) place.strides.pop_back();
  return place;
}

}  // namespace

TensorCall lowered(const KernelCall& call) {
  const auto elements = static_cast<std::size_t>(call.rows * call.columns);
  if (call.rows < 0 || call.columns < 0 || call.logits.size() != elements ||
      (!call.mask.empty() && call.mask.size() != elements)) {
    throw std::invalid_argument("KernelCall: need rows * columns logits (and as many in the mask), got " +
                                std::to_string(call.rows) + " * " + std::to_string(call.columns) + ", " +
                                std::to_string(call.logits.size()) + " and " + std::to_string(call.mask.size()));
  }
  TensorCall result;
  result.inputs.push_back({place_of(call.input, call.rows, call.columns, call.layout), call.logits});
  if (!call.mask.empty()) {
    result.inputs.push_back({place_of(std::nullopt, call.rows, call.columns, call.mask_layout),
                             std::vector<double>(call.mask.begin(), call.mask.end())});
  }
  if (call.in_place) {
    result.outputs.push_back({result.inputs[0].place, 0});
  } else if (call.op->one_value_per_row) {
    result.outputs.push_back({column_of(call.output, call.rows, call.output_layout), std::nullopt});
  } else {
    result.outputs.push_back({place_of(call.output, call.rows, call.columns, call.output_layout), std::nullopt});
  }
  result.theta = call.theta;
  return result;
}

}  // namespace softcheck::proptests
