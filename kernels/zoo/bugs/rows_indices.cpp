// Bugs of rows: indices and offsets.
#include "kernels/zoo/numbered_rows.hpp"

using namespace softcheck::kernels::zoo;

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
