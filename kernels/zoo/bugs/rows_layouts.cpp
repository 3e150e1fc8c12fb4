// Bugs of rows: layouts and indices.
#include <utility>

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

// C15, ONNX Runtime #4288, #17833: the axes are grouped: all rows share one maximum and one sum.
// @judged softmax f16: plain; fail C15; LayoutsAndNeighboursDoNotMatter
SOFTCHECK_MUTANT mutant_softmax_of_the_whole_matrix(const softcheck_call* call) {
  std::optional<Matrices> matrices = matrices_of(*call);
  if (!matrices) return 1;
  const auto over_all = [&](auto real) {
    using Real = decltype(real);
    RowOf<Real> all;
    all.theta = matrices->theta;
    for (std::int64_t r = 0; r < matrices->logits.rows; ++r) {
      const std::vector<Real> logits = gather<Real>(*matrices, r).logits;
      all.logits.insert(all.logits.end(), logits.begin(), logits.end());
    }
    all.out.resize(all.logits.size());
    softmax(all);
    std::size_t next = 0;
    return each_row(*matrices, [&](auto& row) {
      for (auto& p : row.out) p = all.out[next++];
    });
  };
  return is_f64(matrices->logits.type) ? over_all(double{}) : over_all(float{});
}

// C15, ONNX Runtime #15949: the axis is wrong: columns are normalised, and a single row is all ones.
// @judged softmax f32: plain; fail C15
BUG(mutant_softmax_over_rows, rows_of_changed_call, softmax_row) {
  std::swap(matrices.logits.rows, matrices.logits.columns);
  std::swap(matrices.logits.row_stride, matrices.logits.column_stride);
  std::swap(matrices.out.row_stride, matrices.out.column_stride);
  if (matrices.mask) std::swap(matrices.mask->row_stride, matrices.mask->column_stride);
}

// C15, TVM #19420: a transposed matrix (row stride below the column stride) is read in the order of memory if a row has
// more than 1100 logits.
// @judged log_softmax f16: plain; fail|crash C15; EveryPairOfClassesIsComputed; witness >=2202; effort default
BUG(mutant_transposed_long_rows_read_as_stored, rows_of_changed_call, log_softmax_row) {
  if (matrices.logits.row_stride == 1 && matrices.logits.columns > 1100 && matrices.logits.rows > 1) {
    matrices.logits.row_stride = matrices.logits.columns;
    matrices.logits.column_stride = 1;
  }
}

// C15, burn #4815, FlagGems PR #5723: of a transposed view the matrix in memory is read, row by row.
// @judged softmax f32: plain; fail|crash C15; LayoutsAndNeighboursDoNotMatter
BUG(mutant_transposed_read_as_stored, rows_of_changed_call, softmax_row) {
  if (matrices.logits.column_stride > matrices.logits.row_stride) {
    matrices.logits.column_stride = 1;
    matrices.logits.row_stride = matrices.logits.columns;
  }
}

// C6, Paddle PR #71935, PyTorch #84144: the offset of a row of the output is counted in bytes, in a uint32, which wraps
// at 4 GiB.
// @judged softmax f32 f64: plain; fail|crash C6; StridesBeyondAnIntegerAreFollowed
BUG(mutant_byte_offset_in_32_bits, changed_results, softmax_row) {
  const std::int64_t whole = number * from.out.row_stride * (from.out.type.bits / 8);
  Matrices changed = from;
  changed.out.data += static_cast<std::int64_t>(static_cast<std::uint32_t>(whole)) - whole;
  scatter(changed, number, row);
  row.out.clear();
}

// C6, Paddle PR #43107: the column is counted in 16 bits: from the 65,536th on the row is read from its beginning
// again.
// @judged softmax f32: plain; fail C6; witness 65537
BUG(mutant_column_index_in_16_bits, changed_rows, softmax_row) {
  for (std::size_t i = 0; i < row.logits.size(); ++i) {
    row.logits[i] = row.logits[static_cast<std::uint16_t>(i)];
  }
}

// C6, Paddle #43107: 17 bits for a column; after 131,072 logits a row is read from its beginning again.
// @judged softmax f32: plain; fail C6; witness >=131073; effort default
// @judged logsumexp f64: plain; fail C6; witness >=131073; effort default
BUG(mutant_column_index_in_17_bits, changed_rows, softmax_or_logsumexp_row) {
  for (std::size_t i = 131072; i < row.logits.size(); ++i) row.logits[i] = row.logits[i % 131072];
}

// C6, PyTorch #191565: an illegal access, here at address 0.
// @judged softmax f32: plain; crash C6
SOFTCHECK_MUTANT mutant_crashes(const softcheck_call* call) {
  const int status = each_row(call, [](auto& row) { softmax(row); });
  static volatile float* volatile nowhere = nullptr;
  *nowhere = 0;
  return status;
}

// C6, the class of PyTorch #84144: one block for each row in a grid of 65,535 blocks; the rows after them are not
// written.
// @judged softmax f32 f64: plain; fail C6; EveryPairOfClassesIsComputed; element|kernel.nan_row; witness >=65536;
// effort default
BUG(mutant_grid_of_65535_rows, rows_of_changed_call, softmax_row) {
  matrices.logits.rows = std::min<std::int64_t>(matrices.logits.rows, 65535);
}

// C6, the class of PyTorch #103501: a grid of 65,535 blocks, the number of a row is taken modulo that.
// @judged logsumexp f64: plain; fail C6; EveryPairOfClassesIsComputed; value|kernel.nan_row; witness >=65536; effort
// default
BUG(mutant_grid_of_65535_rows_wraps, changed_rows, softmax_or_logsumexp_row) {
  row = gather<Real>(from, number % 65535);
}

// C6, the class of PyTorch #84144: two or more rows of more than 16,384 logits share a workspace of that length; later
// logits are not counted.
// @judged entropy f32: plain; fail C6; EveryPairOfClassesIsComputed; kernel.nan_row|value;
// witness >=65540; effort default
BUG(mutant_long_rows_of_a_batch, changed_rows, entropy_row) {
  const bool hit = from.logits.rows > 3 && row.logits.size() > 16384;
  if (hit) row.logits.resize(16384);
}

// C6, C10: the column of the mask is stored in 12 bits, so that the mask of a row repeats after 4096 logits.
// @judged softmax f32: plain; fail C6; EveryPairOfClassesIsComputed; witness >=4097; effort default
BUG(mutant_mask_column_in_12_bits, rows_by_mask, softmax_row) { return *from.mask->at(number, column % 4096) != 0; }

// C6, ONNX Runtime #32299: the row times its stride is an int32, which wraps at 2^31 elements.
// @judged softmax f32 bf16: plain; fail|crash C6; StridesBeyondAnIntegerAreFollowed
BUG(mutant_offset_in_32_bits, changed_rows, softmax_row) {
  const View& in = from.logits;
  const std::int64_t whole = number * in.row_stride;
  const auto wrapped = static_cast<std::int64_t>(static_cast<std::int32_t>(static_cast<std::uint32_t>(whole)));
  View read = in;
  read.data += (wrapped - whole) * (in.type.bits / 8);
  Matrices changed = from;
  changed.logits = read;
  row.logits = gather<Real>(changed, number).logits;
}

// C6, PyTorch #191565 narrowed down: only row 65,536, the first whose number exceeds 16 bits, is normalised by twice
// its sum.
// @judged softmax f16: plain; fail C6; EveryPairOfClassesIsComputed; witness >=65537; effort default
BUG(mutant_row_65536_alone, changed_results, softmax_row) {
  for (auto& p : row.out) p /= number == 65536 ? 2 : 1;
}

// C6, the class of llama.cpp #24912: the number of a row and that of its lane share a word, and 10 bits are left for
// the row.
// @judged log_softmax f16: plain; fail C6; EveryPairOfClassesIsComputed; element|kernel.nan_row; witness >=1025; effort
// default
BUG(mutant_row_index_in_10_bits, changed_rows, log_softmax_row) { row = gather<Real>(from, number % 1024); }

// C6, the class of Paddle #43107: 12 bits for the number of a row; row 4096 is row 0 again.
// @judged logsumexp f32: plain; fail C6; EveryPairOfClassesIsComputed; value|kernel.infinite_row; witness >=4097;
// effort default
BUG(mutant_row_index_in_12_bits, changed_rows, softmax_or_logsumexp_row) { row = gather<Real>(from, number % 4096); }

// C6, the class of ONNX Runtime #32299: the number of a row is stored in 16 bits, and row 65,536 is row 0 again.
// @judged entropy bf16: plain; fail C6; EveryPairOfClassesIsComputed; witness >=65537; effort default
BUG(mutant_row_index_in_16_bits, changed_rows, entropy_row) {
  row = gather<Real>(from, static_cast<std::uint16_t>(number));
}

// C6, llama.cpp #24912: the number of a row is stored in a byte; the 257th row is read from the place of the first.
// @judged softmax f32: plain; fail C6; ManyRowsAreEachAsRight
BUG(mutant_row_index_in_8_bits, changed_rows, softmax_row) {
  row = gather<Real>(from, static_cast<std::uint8_t>(number));
}

// The same for rows of eight items and more only; a small effort lists no call with a thousand such rows.
// @judged softmax f32: plain; fail C6; ManyRowsAreEachAsRight
BUG(mutant_row_index_in_8_bits_from_8_columns, changed_rows, softmax_row) {
  const std::int64_t own = number;
  if (row.logits.size() >= 8) row = gather<Real>(from, static_cast<std::uint8_t>(own));
}

// C6, the class of llama.cpp #24912: the number of a row is stored in 9 bits; rows from 512 on are computed from the
// first 512 ones.
// @judged softmax f32: plain; fail C6; EveryPairOfClassesIsComputed; element|kernel.nan_row; witness >=513; effort
// default
BUG(mutant_row_index_in_9_bits, changed_rows, softmax_row) { row = gather<Real>(from, number % 512); }
