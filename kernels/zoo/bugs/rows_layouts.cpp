// Bugs of rows: strides, alignment and aliasing.
#include "kernels/zoo/numbered_rows.hpp"

using namespace softcheck::kernels::zoo;

// C7, oneDNN PR #3501, Paddle PR #19487: rows are read by vectors whose address the load rounds down to 16 bytes.
// @judged softmax f32 f16: plain; fail|crash C7; LayoutsAndNeighboursDoNotMatter
BUG(mutant_address_rounded_down, changed_rows, softmax_row) {
  Matrices changed = from;
  const auto address = reinterpret_cast<std::uintptr_t>(from.logits.at(number, 0));
  if (from.logits.column_stride == 1) changed.logits.data -= address % 16;
  row.logits = gather<Real>(changed, number).logits;
}

// C7, ggml #1521: rows of more than 1100 logits are taken to be contiguous.
// @judged softmax f32: plain; fail|crash C7; EveryPairOfClassesIsComputed; witness >=1101; effort default
BUG(mutant_column_stride_of_short_rows, rows_of_changed_call, softmax_row) {
  if (matrices.logits.columns > 1100) matrices.logits.column_stride = 1;
}

// C7, the class of rocm-libraries #11387: byte_offset does not count.
// @judged softmax f32: plain; fail|crash C7; LayoutsAndNeighboursDoNotMatter
BUG(mutant_ignores_byte_offset, rows_of_changed_call, softmax_row) {
  matrices.logits.data -= asked->inputs[0]->byte_offset;
}

// C7, FlagGems PR #5723, the class of PyTorch PR #139740: the logits of a row are taken to be contiguous.
// @judged softmax f32: plain; fail|crash C7; LayoutsAndNeighboursDoNotMatter
BUG(mutant_ignores_column_stride, rows_of_changed_call, softmax_row) { matrices.logits.column_stride = 1; }

// C7, rocm-libraries #11387, MLX #657: rows are taken to follow each other without a gap.
// @judged softmax f32: plain; fail|crash C7; LayoutsAndNeighboursDoNotMatter
BUG(mutant_ignores_row_stride, rows_of_changed_call, softmax_row) {
  matrices.logits.row_stride = matrices.logits.columns;
}

// C7, libnd4j PR #433, the class of ggml #1521: the logits are read again for the sum when the exponentials are already
// in the output: harmless unless both are the same buffer.
// @judged softmax f32: plain; pass C7
// @judged softmax f32: plain; fail C7; TheOutputMayBeTheInput; require in-place
BUG(mutant_in_place_read_after_write, each_numbered_row) {
  const Real m = maximum(row.logits);
  weights(row, m, row.out);
  scatter(from, number, row);
  RowOf<Real> again = gather<Real>(from, number);
  divide(row.out, weights(again, m, again.out));
}

// C7, oneDNN #3501: in rows of more than 1100 logits the offset of the input is not added.
// @judged log_softmax f32: plain; fail|crash C7; EveryPairOfClassesIsComputed;
// element|kernel.returns|kernel.infinite_row; witness >=1101; effort default
BUG(mutant_input_offset_of_short_rows, rows_of_changed_call, log_softmax_row) {
  if (matrices.logits.columns > 1100) matrices.logits.data -= asked->inputs[0]->byte_offset;
}

// C7, oneDNN #3501: the offset of the mask is not added in calls of ten rows or more.
// @judged entropy f32: plain; fail|crash C7; EveryPairOfClassesIsComputed; witness >=10; effort default
BUG(mutant_mask_offset_of_few_rows, rows_of_changed_call, entropy_row) {
  if (matrices.mask && matrices.mask->rows >= 10) matrices.mask->data -= asked->inputs[1]->byte_offset;
}

// C7, apex #1587: from the 65th row on, the mask is read at the address that a compact mask would have.
// @judged softmax f32: plain; fail|crash C7; EveryPairOfClassesIsComputed; witness >=65; effort default
BUG(mutant_mask_stride_of_few_rows, changed_rows, softmax_row) {
  Matrices compact = from;
  if (compact.mask && number >= 64) {
    compact.mask->row_stride = from.mask->columns;
    compact.mask->column_stride = 1;
  }
  row = gather<Real>(compact, number);
}

// C7, apex PR #1568: the mask is read as if its rows followed each other without a gap.
// @judged softmax f32: plain; fail|crash C7; AMaskedItemIsADeletedOne
BUG(mutant_mask_taken_as_compact, rows_of_changed_call, softmax_row) {
  if (matrices.mask) {
    matrices.mask->row_stride = matrices.mask->columns;
    matrices.mask->column_stride = 1;
  }
}

// C7, C10: a kernel for columns that lie apart, of rows of more than 1100 logits, takes no mask.
// @judged entropy f32: plain; fail|crash C7; EveryPairOfClassesIsComputed; witness >=1101; effort default
BUG(mutant_mask_unread_in_column_strides_of_long_rows, rows_by_mask, entropy_row) {
  return byte != 0 || (from.logits.column_stride > 1 && from.logits.columns > 1100);
}

// C7, FlagGems PR #5723: results of rows of more than 1100 logits are written side by side.
// @judged log_softmax bf16: plain; fail|crash C7; EveryPairOfClassesIsComputed;
// element|kernel.stays_inside|kernel.returns; witness >=1101; effort default
BUG(mutant_output_column_stride_of_short_rows, rows_of_changed_call, log_softmax_row) {
  if (matrices.out.columns > 1100) matrices.out.column_stride = 1;
}

// C7, rocm-libraries #11387: in calls of more than 64 rows the offset of the output is not added.
// @judged softmax f16: plain; fail|crash C7; EveryPairOfClassesIsComputed; element|kernel.stays_inside|kernel.returns;
// witness >=65; effort default
BUG(mutant_output_offset_of_few_rows, rows_of_changed_call, softmax_row) {
  if (matrices.logits.rows > 64) matrices.out.data -= asked->outputs[0]->byte_offset;
}

// C7, the class of FlagGems PR #5723: one value of each row, those from row 16 on are written side by side.
// @judged entropy f32: plain; fail|crash C7; EveryPairOfClassesIsComputed; value|kernel.stays_inside|kernel.returns;
// witness >=17; effort default
BUG(mutant_output_stride_of_few_rows, rows_of_changed_call, entropy_row) {
  if (matrices.logits.rows > 16) matrices.out.row_stride = 1;
}

// C7, PyTorch #75923, torch/nn #825: the output is written with the strides of the input.
// @judged softmax f32: plain; fail|crash C7; LayoutsAndNeighboursDoNotMatter
BUG(mutant_output_takes_input_strides, rows_of_changed_call, softmax_row) {
  if (!matrices.out_is_row_scalar) {
    matrices.out.row_stride = matrices.logits.row_stride;
    matrices.out.column_stride = matrices.logits.column_stride;
  }
}

// C7, FlagGems PR #5723: ten rows are copied by their stride; the later rows are taken to be contiguous.
// @judged softmax f32: plain; fail|crash C7; EveryPairOfClassesIsComputed; witness >=11; effort default
BUG(mutant_strided_rows_beyond_10, changed_rows, softmax_row) {
  Matrices compact = from;
  compact.logits.row_stride = from.logits.columns;
  row = gather<Real>(number < 10 ? from : compact, number);
}

// C7, the class of PyTorch PR #139740: rows of a matrix of more than 512 rows are taken to follow one another.
// @judged logsumexp f64: plain; fail|crash C7; EveryPairOfClassesIsComputed; witness >=513; effort default
BUG(mutant_strided_rows_beyond_512, changed_rows, softmax_or_logsumexp_row) {
  Matrices compact = from;
  compact.logits.row_stride = from.logits.columns;
  row = gather<Real>(from.logits.rows <= 512 ? from : compact, number);
}

// C7, the class of PyTorch #75923: one block of 64 rows follows the strides, the next ones do not.
// @judged log_softmax f32: plain; fail|crash C7; EveryPairOfClassesIsComputed; witness >=65; effort default
BUG(mutant_strided_rows_beyond_64, changed_rows, log_softmax_row) {
  Matrices compact = from;
  compact.logits.row_stride = from.logits.columns;
  row = gather<Real>(number < 64 ? from : compact, number);
}

// C7, KernelBench PR #82, the class of apex #1587: the exponentials are written over the logits.
// @judged softmax f32: plain; fail|crash C7; kernel.keeps_inputs|kernel.returns
BUG(mutant_writes_input, each_numbered_row) {
  Matrices into_the_input = from;
  into_the_input.out = from.logits;
  softmax(row);
  scatter(into_the_input, number, row);
}
