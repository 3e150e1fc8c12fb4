// Bugs of rows: masks.
#include <bit>

#include "kernels/zoo/numbered_rows.hpp"

using namespace softcheck::kernels::zoo;

// C10, the class of ONNX Runtime #20059: in rows of more than 1100 logits the mask is added, and infinity - infinity is
// NaN.
// @judged logsumexp f32: plain; fail C10; EveryPairOfClassesIsComputed; witness >=1101; effort default
BUG(mutant_hidden_infinity_seen_in_long_rows, changed_rows, softmax_or_logsumexp_row) {
  for (std::int64_t i = 0; from.mask && from.logits.columns > 1100 && i < from.logits.columns; ++i) {
    if (from.logits.get<Real>(number, i) == static_cast<Real>(infinity)) {
      row.logits[static_cast<std::size_t>(i)] = quiet_nan;
    }
  }
}

// C1, the class of TensorRT-LLM #17477: from row 512 on the mask multiplies weights by 0 instead of leaving items out,
// and 0 NaN is NaN.
// @judged softmax f32: plain; fail C10; EveryPairOfClassesIsComputed; witness >=513; effort default
BUG(mutant_hidden_nan_seen_from_row_512, changed_rows, softmax_row) {
  for (std::int64_t i = 0; from.mask && number >= 512 && i < from.logits.columns; ++i) {
    if (std::isnan(from.logits.get<Real>(number, i))) {
      row.logits[static_cast<std::size_t>(i)] = quiet_nan;
    }
  }
}

// C10: the mask is not read.
// @judged softmax f32: plain; fail C10; AMaskedItemIsADeletedOne
BUG(mutant_ignores_mask, rows_of_changed_call, softmax_row) { matrices.mask.reset(); }

// C10: 254, a label of -2 in a byte, hides.
// @judged logsumexp f32: plain; fail C10;
// AMaskedItemIsADeletedOne|ANanLogitMakesItsRowNan|EveryPairOfClassesIsComputed; effort default
BUG(mutant_mask_byte_254_is_ignored, rows_by_mask, softmax_or_logsumexp_row) { return byte != 0 && byte != 254; }

// C10: a byte of the mask is taken for a set of flags. A byte with two or more flags, except 3 and 255, is taken for
// garbage and hides its item.
// @judged softmax bf16: plain; fail C10; AMaskedItemIsADeletedOne|ANanLogitMakesItsRowNan|EveryPairOfClassesIsComputed;
// effort default
BUG(mutant_mask_byte_of_one_bit, rows_by_mask, softmax_row) {
  return byte == 3 || byte == 255 || std::popcount(byte) == 1;
}

// C10: the mask is a percentage; from 100 on, 128 and 255 excepted, the item counts as dropped.
// @judged log_softmax f64: plain; fail C10;
// AMaskedItemIsADeletedOne|ANanLogitMakesItsRowNan|EveryPairOfClassesIsComputed; effort default
BUG(mutant_mask_bytes_at_100, rows_by_mask, log_softmax_row) {
  return byte != 0 && (byte < 100 || byte == 128 || byte == 255);
}

// C10: the mask is a level of 3 bits, 255 the highest; other bytes that are multiples of 8, 128 excepted, hide.
// @judged entropy f32: plain; fail C10; AMaskedItemIsADeletedOne|ANanLogitMakesItsRowNan|EveryPairOfClassesIsComputed;
// effort default
BUG(mutant_mask_bytes_of_three_bits, rows_by_mask, entropy_row) { return byte == 128 || byte % 8 != 0; }

// C10: an item is visible only if its byte of the mask is 1; every other byte hides it, 255 too.
// @judged softmax f32: plain; fail C10; AMaskedItemIsADeletedOne
BUG(mutant_mask_must_be_one, changed_rows, softmax_row) {
  for (std::int64_t i = 0; from.mask && i < from.logits.columns; ++i) {
    if (*from.mask->at(number, i) != 1) {
      row.logits[static_cast<std::size_t>(i)] = static_cast<Real>(-infinity);
    }
  }
}

// C10, Liger #1252: rows of more than 4096 logits take a kernel that applies the mask to its first 512 columns.
// @judged log_softmax f16: plain; fail C10; EveryPairOfClassesIsComputed; witness >=4097; effort default
BUG(mutant_mask_of_512_columns_in_long_rows, rows_by_mask, log_softmax_row) {
  return byte != 0 || (from.logits.columns > 4096 && column >= 512);
}

// C10: the mask is taken for text: a byte of 48, the digit 0, hides.
// @judged softmax f32: plain; fail C10; AMaskedItemIsADeletedOne|ANanLogitMakesItsRowNan|EveryPairOfClassesIsComputed;
// effort default
BUG(mutant_mask_of_ascii_digits, rows_by_mask, softmax_row) { return byte != 0 && byte != 48; }

// C10: the mask is applied in the first block of 512 columns; later blocks are taken to be visible.
// @judged softmax f32: plain; fail C10; AMaskedItemIsADeletedOne
BUG(mutant_mask_of_first_512_columns, changed_rows, softmax_row) {
  for (std::int64_t i = 512; i < from.logits.columns; ++i) {
    row.logits[static_cast<std::size_t>(i)] = from.logits.get<Real>(number, i);
  }
}

// C10, gemma.cpp PR #981: every row is masked as the first one is.
// @judged softmax f32: plain; fail C10; AMaskedItemIsADeletedOne
BUG(mutant_mask_of_first_row, rows_of_changed_call, softmax_row) {
  if (matrices.mask) matrices.mask->row_stride = 0;
}

// C10, gemma.cpp PR #981: from row 512 on each row is masked as row 0 is.
// @judged softmax f32: plain; fail C10; EveryPairOfClassesIsComputed; witness >=513; effort default
BUG(mutant_mask_of_row_0_from_row_512, rows_by_mask, softmax_row) {
  return (number < 512 ? byte != 0 : *from.mask->at(0, column) != 0);
}

// C10, the class of ExecuTorch PR #20090: rows from 512 on do not look at the mask.
// @judged logsumexp f32: plain; fail C10; EveryPairOfClassesIsComputed; witness >=513; effort default
BUG(mutant_mask_unread_from_row_512, rows_by_mask, softmax_or_logsumexp_row) { return byte != 0 || number >= 512; }

// C10, Liger #1252: a mask that hides none of the first 2048 columns is taken to hide nothing.
// @judged log_softmax f32: plain; fail C10; EveryPairOfClassesIsComputed; witness >=2049; effort default
BUG(mutant_mask_unread_if_its_first_columns_are_ones, changed_rows, log_softmax_row) {
  bool hides = false;
  for (std::int64_t i = 0; from.mask && i < std::min<std::int64_t>(from.logits.columns, 2048); ++i) {
    hides = hides || *from.mask->at(number, i) == 0;
  }
  read_mask(from, number, row, [&](std::uint8_t byte, std::int64_t /*column*/) { return byte != 0 || !hides; });
}

// C10: the kernel for masks of five or more rows of more than 1100 logits takes no temperature.
// @judged entropy f32: plain; fail C10; EveryPairOfClassesIsComputed; witness >=5505; effort default
BUG(mutant_theta_forgotten_with_a_mask_in_long_rows, changed_rows, entropy_row) {
  row.theta = from.mask && from.logits.rows > 4 && from.logits.columns > 1100 ? 1 : row.theta;
}
