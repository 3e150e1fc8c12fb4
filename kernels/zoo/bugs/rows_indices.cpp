// Bugs of rows: indices and offsets.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "kernels/zoo/numbered_rows.hpp"
#include "kernels/zoo/reference_rows.hpp"

using namespace softcheck::kernels::zoo;

// C6, Paddle PR #71935, PyTorch #84144: the offset of a row of the output is counted in bytes, in a uint32, which wraps
// at 4 GiB.
// @judged softmax f32 f64: exp=1ulp sum=sequential masked=nan; fail|crash C6; StridesBeyondAnIntegerAreFollowed;
// kernel.softmax.element|kernel.returns
SOFTCHECK_MUTANT mutant_byte_offset_in_32_bits(const softcheck_call* call) {
  std::optional<Matrices> matrices = matrices_of(*call);
  if (!matrices) {
    return 1;
  }
  std::int64_t r = 0;
  Matrices changed = *matrices;
  return each_row(*matrices, [&](auto& row) {
    softmax(row);
    const std::int64_t whole = r * matrices->out.row_stride * (matrices->out.type.bits / 8);
    changed.out.data = matrices->out.data + static_cast<std::int64_t>(static_cast<std::uint32_t>(whole)) - whole;
    scatter(changed, r++, row);
    row.out.clear();
  });
}

// C6, Paddle PR #43107: the column is counted in 16 bits: from the 65,536th on the row is read from its beginning
// again.
// @judged softmax f32: exp=1ulp sum=sequential masked=nan; fail C6; EveryValueLiesWithinItsThreshold;
// kernel.softmax.element; witness 65537
SOFTCHECK_MUTANT mutant_column_index_in_16_bits(const softcheck_call* call) {
  return each_row(call, [](auto& row) {
    for (std::size_t i = 0; i < row.logits.size(); ++i) {
      row.logits[i] = row.logits[static_cast<std::uint16_t>(i)];
    }
    softmax(row);
  });
}

// C6, Paddle #43107: 17 bits for a column; behind 131,072 logits a row is read from its beginning again.
// @judged softmax f32: exp=1ulp sum=sequential masked=nan; fail C6; EveryValueLiesWithinItsThreshold;
// kernel.softmax.element; witness >=131073; effort default
// @judged logsumexp f64: exp=1ulp sum=sequential masked=nan; fail C6; EveryValueLiesWithinItsThreshold;
// kernel.logsumexp.value; witness >=131073; effort default
SOFTCHECK_MUTANT mutant_column_index_in_17_bits(const softcheck_call* call) {
  return each_numbered_row(call, [](const Matrices& from, std::int64_t /*number*/, auto& row) {
    for (std::size_t i = 131072; i < row.logits.size(); ++i) {
      row.logits[i] = row.logits[i % 131072];
    }
    softmax_or_logsumexp(from, row);
  });
}

// C6, PyTorch #191565: an illegal access, here at address 0.
// @judged softmax f32: exp=1ulp sum=sequential masked=nan; crash C6; EveryValueLiesWithinItsThreshold; kernel.returns
SOFTCHECK_MUTANT mutant_crashes(const softcheck_call* call) {
  const int status = each_row(call, [](auto& row) { softmax(row); });
  static volatile float* volatile nowhere = nullptr;
  *nowhere = 0;
  return status;
}

// C6, the class of PyTorch #84144: a block for each row, of which a grid has 65,535; the rows behind them are left as
// they were.
// @judged softmax f32 f64: exp=1ulp sum=sequential masked=nan; fail C6; EveryPairOfClassesIsComputed;
// kernel.softmax.element|kernel.nan_row; witness >=65536; effort default
SOFTCHECK_MUTANT mutant_grid_of_65535_rows(const softcheck_call* call) {
  std::optional<Matrices> matrices = matrices_of(*call);
  if (!matrices) {
    return 1;
  }
  matrices->logits.rows = std::min<std::int64_t>(matrices->logits.rows, 65535);
  return each_row(*matrices, [](auto& row) { softmax(row); });
}

// C6, the class of PyTorch #103501: a grid of 65,535 blocks, the number of a row is taken modulo that.
// @judged logsumexp f64: exp=1ulp sum=sequential masked=nan; fail C6; EveryPairOfClassesIsComputed;
// kernel.logsumexp.value|kernel.nan_row; witness >=65536; effort default
SOFTCHECK_MUTANT mutant_grid_of_65535_rows_wraps(const softcheck_call* call) {
  return each_numbered_row(call, []<class Real>(const Matrices& from, std::int64_t number, RowOf<Real>& row) {
    row = gather<Real>(from, number % 65535);
    softmax_or_logsumexp(from, row);
  });
}

// C6, the class of PyTorch #84144: rows of more than 16,384 logits, two or more, share a workspace of that length; what
// lies behind is not counted.
// @judged entropy f32: exp=1ulp sum=sequential masked=nan; fail C6; EveryPairOfClassesIsComputed; kernel.entropy.value;
// witness >=65540; effort default
SOFTCHECK_MUTANT mutant_long_rows_of_a_batch(const softcheck_call* call) {
  return each_numbered_row(call, [](const Matrices& from, std::int64_t /*number*/, auto& row) {
    const bool hit = from.logits.rows > 3 && row.logits.size() > 16384;
    if (hit) {
      row.logits.resize(16384);
    }
    row.out[0] = entropy_or(row, [](const auto& finite) { return entropy_of(sums_of(finite)); });
  });
}

// C6, C10: the column of the mask is kept in 12 bits, so that a row of more than 4096 logits is masked in turns.
// @judged softmax f32: exp=1ulp sum=sequential masked=nan; fail C6; EveryPairOfClassesIsComputed;
// kernel.softmax.element; witness >=4097; effort default
SOFTCHECK_MUTANT mutant_mask_column_in_12_bits(const softcheck_call* call) {
  return each_numbered_row(call, [](const Matrices& from, std::int64_t number, auto& row) {
    read_mask(from, number, row,
              [&](std::uint8_t /*byte*/, std::int64_t column) { return *from.mask->at(number, column % 4096) != 0; });
    softmax(row);
  });
}

// C6, ONNX Runtime #32299: the row times its stride is an int32, which wraps at 2^31 elements.
// @judged softmax f32 bf16: exp=1ulp sum=sequential masked=nan; fail|crash C6; StridesBeyondAnIntegerAreFollowed;
// kernel.softmax.element|kernel.returns
SOFTCHECK_MUTANT mutant_offset_in_32_bits(const softcheck_call* call) {
  std::optional<Matrices> matrices = matrices_of(*call);
  if (!matrices) {
    return 1;
  }
  std::int64_t r = 0;
  return each_row(*matrices, [&]<class Real>(RowOf<Real>& row) {
    const View& in = matrices->logits;
    const std::int64_t whole = r * in.row_stride;
    const auto wrapped = static_cast<std::int64_t>(static_cast<std::int32_t>(static_cast<std::uint32_t>(whole)));
    View read = in;
    read.data += (wrapped - whole) * (in.type.bits / 8);
    Matrices changed = *matrices;
    changed.logits = read;
    row.logits = gather<Real>(changed, r++).logits;
    softmax(row);
  });
}

// C6, PyTorch #191565 narrowed down: one past what 16 bits hold, and no other row, is normalised by twice its sum.
// @judged softmax f16: exp=1ulp sum=sequential masked=nan; fail C6; EveryPairOfClassesIsComputed;
// kernel.softmax.element; witness >=65537; effort default
SOFTCHECK_MUTANT mutant_row_65536_alone(const softcheck_call* call) {
  return each_numbered_row(call, [](const Matrices& /*from*/, std::int64_t number, auto& row) {
    softmax(row);
    for (auto& p : row.out) {
      p /= number == 65536 ? 2 : 1;
    }
  });
}

// C6, the class of llama.cpp #24912: the number of a row and that of its lane share a word, and 10 bits are left for
// the row.
// @judged log_softmax f16: exp=1ulp sum=sequential masked=nan; fail C6; EveryPairOfClassesIsComputed;
// kernel.log_softmax.element|kernel.nan_row; witness >=1025; effort default
SOFTCHECK_MUTANT mutant_row_index_in_10_bits(const softcheck_call* call) {
  return each_numbered_row(call, []<class Real>(const Matrices& from, std::int64_t number, RowOf<Real>& row) {
    row = gather<Real>(from, number % 1024);
    log_softmax(row);
  });
}

// C6, the class of Paddle #43107: 12 bits for the number of a row; row 4096 is row 0 again.
// @judged logsumexp f32: exp=1ulp sum=sequential masked=nan; fail C6; EveryPairOfClassesIsComputed;
// kernel.logsumexp.value|kernel.infinite_row; witness >=4097; effort default
SOFTCHECK_MUTANT mutant_row_index_in_12_bits(const softcheck_call* call) {
  return each_numbered_row(call, []<class Real>(const Matrices& from, std::int64_t number, RowOf<Real>& row) {
    row = gather<Real>(from, number % 4096);
    softmax_or_logsumexp(from, row);
  });
}

// C6, the class of ONNX Runtime #32299: the number of a row is kept in 16 bits, and row 65,536 is row 0 again.
// @judged entropy bf16: exp=1ulp sum=sequential masked=nan; fail C6; EveryPairOfClassesIsComputed;
// kernel.entropy.value; witness >=65537; effort default
SOFTCHECK_MUTANT mutant_row_index_in_16_bits(const softcheck_call* call) {
  return each_numbered_row(call, []<class Real>(const Matrices& from, std::int64_t number, RowOf<Real>& row) {
    row = gather<Real>(from, static_cast<std::uint16_t>(number));
    row.out[0] = entropy_or(row, [](const auto& finite) { return entropy_of(sums_of(finite)); });
  });
}

// C6, llama.cpp #24912: the number of a row is kept in a byte; the 257th row is read where the first one lies.
// @judged softmax f32: exp=1ulp sum=sequential masked=nan; fail C6; ManyRowsAreEachAsRight; kernel.softmax.element
SOFTCHECK_MUTANT mutant_row_index_in_8_bits(const softcheck_call* call) {
  const std::optional<Matrices> matrices = matrices_of(*call);
  if (!matrices) {
    return 1;
  }
  std::int64_t number = 0;
  return each_row(*matrices, [&]<class Real>(RowOf<Real>& row) {
    row = gather<Real>(*matrices, static_cast<std::uint8_t>(number++));
    softmax(row);
  });
}

// The same of rows of eight items and more, which stand in no call of a thousand rows that a small effort lists.
// @judged softmax f32: exp=1ulp sum=sequential masked=nan; fail C6; ManyRowsAreEachAsRight; kernel.softmax.element
SOFTCHECK_MUTANT mutant_row_index_in_8_bits_from_8_columns(const softcheck_call* call) {
  const std::optional<Matrices> matrices = matrices_of(*call);
  if (!matrices) {
    return 1;
  }
  std::int64_t number = 0;
  return each_row(*matrices, [&]<class Real>(RowOf<Real>& row) {
    const std::int64_t own = number++;
    if (row.logits.size() >= 8) row = gather<Real>(*matrices, static_cast<std::uint8_t>(own));
    softmax(row);
  });
}

// C6, the class of llama.cpp #24912: the number of a row is kept in 9 bits; rows from 512 on are computed from the
// first 512 ones.
// @judged softmax f32: exp=1ulp sum=sequential masked=nan; fail C6; EveryPairOfClassesIsComputed;
// kernel.softmax.element|kernel.nan_row; witness >=513; effort default
SOFTCHECK_MUTANT mutant_row_index_in_9_bits(const softcheck_call* call) {
  return each_numbered_row(call, []<class Real>(const Matrices& from, std::int64_t number, RowOf<Real>& row) {
    row = gather<Real>(from, number % 512);
    softmax(row);
  });
}
