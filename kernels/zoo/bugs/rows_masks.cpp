// Bugs of rows: masks, fully masked rows, and sentinels instead of -inf.
#include <bit>
#include <limits>

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

// C10: the kernel for rows of up to 2048 logits applies the mask in the first block of 512 columns; later blocks are
// taken to be visible.
// @judged softmax f32: plain; fail C10; AMaskedItemIsADeletedOne
BUG(mutant_mask_of_first_512_columns, changed_rows, softmax_row) {
  if (from.logits.columns > 2048) return;
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

// C1, TensorRT-LLM #17477: masked logits are -FLT_MAX, so that exp(-FLT_MAX + FLT_MAX) = 1 in a row of nothing else.
// @judged adaptive_softmax bf16: plain entropy=exact; fail C1; AFullyMaskedRowIsAsDeclared
SOFTCHECK_MUTANT mutant_adaptive_masked_row_uniform(const softcheck_call* call) {
  return call->theta != 1 ? 1 : each_row(call, [](Row& row) {
    for (float& x : row.logits) x = x == -infinity ? -std::numeric_limits<float>::max() : x;
    adaptive_softmax(row);
  });
}

// C1, Keras PR #21149: a fully masked row counts as a uniform one: its entropy is ln n.
// @judged entropy bf16: plain; fail C1; AFullyMaskedRowIsAsDeclared
BUG(mutant_entropy_of_masked_row_uniform, each_row) {
  if (!row.logits.empty() && maximum(row.logits) == -infinity) {
    row.out[0] = std::log(static_cast<Real>(row.logits.size()));
    return;
  }
  entropy(row);
}

// C1, MXNet PR #19703: a masked item gets the log-probability 0 instead of -inf.
// @judged log_softmax f16: plain; fail C1; AMaskedItemIsADeletedOne
BUG(mutant_log_softmax_of_masked_zero, changed_results, log_softmax_row) {
  for (std::size_t i = 0; i < row.out.size(); ++i) {
    row.out[i] = row.logits[i] == -infinity && std::isfinite(maximum(row.logits)) ? 0 : row.out[i];
  }
}

// C1, matrixStats #84: the log-sum-exp of two and more masked items is (-inf) - (-inf); of one it is right.
// @judged logsumexp f64: plain; fail C1; AFullyMaskedRowIsAsDeclared
BUG(mutant_lse_of_masked_row_nan, each_row) {
  const Real m = maximum(row.logits);
  if (row.logits.size() <= 1) {
    row.out[0] = static_cast<Real>(m / row.theta);
    return;
  }
  const Sums<Real> sums = sums_of(row);
  row.out[0] = std::isnan(m) ? m : logsumexp_of(row, sums);
}

// C1: a masked item's probability is -0, as a mask that is multiplied by -1 and by the weight leaves it.
// @judged softmax f32 f64: plain; fail C1; AMaskedItemIsADeletedOne
BUG(mutant_masked_item_minus_zero, changed_results, softmax_row) {
  for (std::size_t i = 0; i < row.out.size(); ++i) {
    if (row.logits[i] == -infinity && row.out[i] == 0) row.out[i] = -row.out[i];
  }
}

// C1, PyTorch #103963, #41508, #55056: a fully masked row is 0/0, though zero is declared.
// @judged softmax f32 f64: plain masked=zero; fail C1; AFullyMaskedRowIsAsDeclared
BUG(mutant_masked_row_nan, each_row) { softmax(row); }

// C1, TensorRT-LLM #17477: m starts at -FLT_MAX and masked logits are clamped to it: a fully masked row is uniform,
// though nan is declared.
// @judged softmax f32: plain; fail C1; AFullyMaskedRowIsAsDeclared
BUG(mutant_masked_row_uniform, changed_narrow_rows, softmax_row) {
  for (float& x : row.logits) x = x == -infinity ? -std::numeric_limits<float>::max() : x;
}

// C1, PyTorch #103749: a fully masked row is zero, though nan is declared.
// @judged softmax f32: plain; fail C1; AFullyMaskedRowIsAsDeclared
BUG(mutant_masked_row_zero, each_narrow_row) {
  if (maximum(row.logits) == -infinity) {
    row.out.assign(row.out.size(), 0.0f);
    return;
  }
  softmax(row);
}

// C1, MLX #1467: rows of less than 128 logits take another path; fully masked, they are zero, the others NaN.
// @judged softmax f32: plain masked=zero; fail C1; AFullyMaskedRowIsAsDeclared; witness 128
BUG(mutant_masked_row_zero_below_a_vector, each_row) {
  if (row.logits.size() < 128 && maximum(row.logits) == -infinity) {
    row.out.assign(row.out.size(), 0);
    return;
  }
  softmax(row);
}

// C1, PyTorch #41508: from row 512 on a row without a visible item is 0; the contract says NaN.
// @judged softmax f32: plain; fail C1; EveryPairOfClassesIsComputed; kernel.masked_row; witness >=513; effort default
BUG(mutant_masked_row_zero_from_row_512, changed_results, softmax_row) {
  if (number >= 512 && maximum(row.logits) == -infinity) std::ranges::fill(row.out, 0);
}

// C1, PyTorch #103963: a row of more than 300 logits without a visible item is 0; the contract says NaN.
// @judged softmax f32: plain; fail C1; EveryPairOfClassesIsComputed; kernel.masked_row; witness >=301; effort default
BUG(mutant_masked_row_zero_in_long_rows, changed_results, softmax_row) {
  if (from.logits.columns > 300 && maximum(row.logits) == -infinity) std::ranges::fill(row.out, 0);
}

// C3, lattice #361, the class of ONNX Runtime #20059: a masked item is scored -10000 instead of -inf: it wins where the
// visible ones lie lower.
// @judged softmax f32 bf16: plain; fail C3; AMaskedItemIsADeletedOne
BUG(mutant_mask_value_minus_1e4, changed_rows, softmax_row) {
  const Real m = maximum(row.logits);
  for (Real& x : row.logits) x = x == -infinity && std::isfinite(m) ? -1e4f : x;
}

// C3, the class of NNlib #43: in log-softmax a masked item is scored -1e9 instead of -inf, and gets a finite
// log-probability.
// @judged log_softmax f32: plain; fail C3; AMaskedItemIsADeletedOne
BUG(mutant_mask_value_minus_1e9, changed_rows, log_softmax_row) {
  const Real m = maximum(row.logits);
  for (Real& x : row.logits) x = x == -infinity && std::isfinite(m) ? -1e9f : x;
}

// C3, rvllm PR #1, lightseq PR #74: lanes without a logit hold 0, and the maximum is at least that: rows far below zero
// are 0/0.
// @judged softmax f32 bf16: plain; fail C3
BUG(mutant_maximum_starts_at_zero, each_row) {
  const Real m = maximum(row.logits);
  divide(row.out, weights(row, m < 0 && m > -infinity ? Real(0) : m, row.out));
}

// C3, FlashInfer #4267: the running maximum starts at -5e4 instead of -inf.
// @judged softmax f32: plain; fail C3; EveryValueLiesWithinItsThreshold|LayoutsAndNeighboursDoNotMatter
BUG(mutant_sentinel_5e4, each_narrow_row) {
  const float m = maximum(row.logits);
  const float sum = weights(row, m < -5e4f && m > -infinity ? -5e4f : m, row.out);
  divide(row.out, sum);
}

// C3: a masked item gets a finite score. It wins, or shares, if the visible scores lie below it:
// TransformerLens #318 uses -1e5, BERT -1e9, and many kernels of f32 -1e30.
template <class Real>
static void softmax_with_masked_items(RowOf<Real>& row, Real sentinel) {
  if (std::isfinite(maximum(row.logits))) {
    for (Real& x : row.logits) x = x == -infinity ? sentinel : x;
  }
  softmax(row);
}

// @judged softmax f32 bf16 f64: plain; fail C3; LogitsReachTheirRange
BUG(mutant_mask_value_minus_1e5, each_row) { softmax_with_masked_items(row, Real(-1e5)); }

// @judged softmax f32 bf16: plain; fail C3; LogitsReachTheirRange
BUG(mutant_softmax_mask_value_minus_1e9, each_row) { softmax_with_masked_items(row, Real(-1e9)); }

// C3, transformers' masks of finfo.min: an item at the lowest number counts as masked, also where no other is visible.
// @judged softmax f32 bf16: plain; fail C3; LogitsReachTheirRange
BUG(mutant_lowest_number_is_masked, each_row) {
  const Real lowest = sizeof(Real) == 8 ? std::numeric_limits<Real>::lowest() : Real(-0x1.fep127);
  for (Real& x : row.logits) x = x <= lowest ? -infinity : x;
  softmax(row);
}

// @judged softmax f32: plain; fail C3; LogitsReachTheirRange
BUG(mutant_mask_value_minus_1e30, each_row) { softmax_with_masked_items(row, Real(-1e30)); }
