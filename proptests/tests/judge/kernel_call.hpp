#pragma once

#include <cstdint>
#include <vector>

#include "judge/call/tensor_call.hpp"
#include "judge/op/op.hpp"

namespace softcheck::proptests {

/// How a matrix lies in memory.
struct Layout {
  std::int64_t column_stride = 1;  // elements from one column to the next
  std::int64_t row_gap = 0;        // elements between the last column's place and the next row
  std::int64_t offset = 0;         // elements of byte_offset in front of the view
  bool against_the_end = true;     // the buffer ends (else begins) at a page that cannot be touched
};

/// One call of a kernel of the softmax family on a matrix of logits. A row scalar's output is a column of (rows):
/// output_layout's column_stride and row_gap then lie between one row and the next.
struct KernelCall {
  Op op = Op::softmax;
  numerics::Format input = numerics::Format::f32;
  numerics::Format output = numerics::Format::f32;
  std::int64_t rows = 1;
  std::int64_t columns = 0;
  std::vector<double> logits;      // (rows, columns), each a value of the input format
  std::vector<std::uint8_t> mask;  // (rows, columns), nonzero = visible; empty: no mask is passed
  double theta = 1;
  Layout layout;  // of the logits
  Layout output_layout;
  Layout mask_layout;
  bool in_place = false;  // the output is the logits' view
};

/// throws   std::invalid_argument when its sizes disagree or a layout is impossible
TensorCall lowered(const KernelCall& call);

}  // namespace softcheck::proptests
