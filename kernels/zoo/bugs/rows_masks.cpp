// Bugs of rows: masks.
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <optional>

#include "kernels/zoo/numbered_rows.hpp"
#include "kernels/zoo/reference_rows.hpp"

using namespace softcheck::kernels::zoo;

// C10, the class of ONNX Runtime #20059: in rows of more than 1100 logits the mask is added, and infinity - infinity is
// NaN.
// @judged logsumexp f32: exp=1ulp sum=sequential masked=nan; fail C10; EveryPairOfClassesIsComputed;
// kernel.logsumexp.value; witness >=1101; effort default
SOFTCHECK_MUTANT mutant_hidden_infinity_seen_in_long_rows(const softcheck_call* call) {
  return each_numbered_row(call, []<class Real>(const Matrices& from, std::int64_t number, RowOf<Real>& row) {
    for (std::int64_t i = 0; from.mask && from.logits.columns > 1100 && i < from.logits.columns; ++i) {
      if (from.logits.get<Real>(number, i) == static_cast<Real>(infinity)) {
        row.logits[static_cast<std::size_t>(i)] = quiet_nan;
      }
    }
    softmax_or_logsumexp(from, row);
  });
}

// C1, the class of TensorRT-LLM #17477: from row 512 on the mask multiplies weights by 0 instead of leaving items out,
// and 0 NaN is NaN.
// @judged softmax f32: exp=1ulp sum=sequential masked=nan; fail C10; EveryPairOfClassesIsComputed;
// kernel.softmax.element; witness >=513; effort default
SOFTCHECK_MUTANT mutant_hidden_nan_seen_from_row_512(const softcheck_call* call) {
  return each_numbered_row(call, []<class Real>(const Matrices& from, std::int64_t number, RowOf<Real>& row) {
    for (std::int64_t i = 0; from.mask && number >= 512 && i < from.logits.columns; ++i) {
      if (std::isnan(from.logits.get<Real>(number, i))) {
        row.logits[static_cast<std::size_t>(i)] = quiet_nan;
      }
    }
    softmax(row);
  });
}

// C10: the mask is not read.
// @judged softmax f32: exp=1ulp sum=sequential masked=nan; fail C10; AMaskedItemIsADeletedOne; kernel.softmax.element
SOFTCHECK_MUTANT mutant_ignores_mask(const softcheck_call* call) {
  softcheck_call unmasked = *call;
  unmasked.n_inputs = 1;
  return each_row(&unmasked, [](auto& row) { softmax(row); });
}

// C10: 254, a label of -2 in a byte, hides.
// @judged logsumexp f32: exp=1ulp sum=sequential masked=nan; fail C10;
// AMaskedItemIsADeletedOne|ANanLogitMakesItsRowNan|EveryPairOfClassesIsComputed; kernel.logsumexp.value; effort default
SOFTCHECK_MUTANT mutant_mask_byte_254_is_ignored(const softcheck_call* call) {
  return each_numbered_row(call, [](const Matrices& from, std::int64_t number, auto& row) {
    read_mask(from, number, row, [](std::uint8_t byte, std::int64_t /*column*/) { return byte != 0 && byte != 254; });
    softmax_or_logsumexp(from, row);
  });
}

// C10: a byte of the mask is a set of flags; one with two or more flags that is neither 3 nor 255 is taken for garbage
// and hides.
// @judged softmax bf16: exp=1ulp sum=sequential masked=nan; fail C10;
// AMaskedItemIsADeletedOne|ANanLogitMakesItsRowNan|EveryPairOfClassesIsComputed; kernel.softmax.element; effort default
SOFTCHECK_MUTANT mutant_mask_byte_of_one_bit(const softcheck_call* call) {
  return each_numbered_row(call, [](const Matrices& from, std::int64_t number, auto& row) {
    read_mask(from, number, row, [](std::uint8_t byte, std::int64_t /*column*/) {
      return byte == 3 || byte == 255 || std::popcount(byte) == 1;
    });
    softmax(row);
  });
}

// C10: the mask is a percentage; from 100 on, 128 and 255 excepted, the item counts as dropped.
// @judged log_softmax f64: exp=1ulp sum=sequential masked=nan; fail C10;
// AMaskedItemIsADeletedOne|ANanLogitMakesItsRowNan|EveryPairOfClassesIsComputed; kernel.log_softmax.element; effort
// default
SOFTCHECK_MUTANT mutant_mask_bytes_at_100(const softcheck_call* call) {
  return each_numbered_row(call, [](const Matrices& from, std::int64_t number, auto& row) {
    read_mask(from, number, row, [](std::uint8_t byte, std::int64_t /*column*/) {
      return byte != 0 && (byte < 100 || byte == 128 || byte == 255);
    });
    log_softmax(row);
  });
}

// C10: the mask is a level of 3 bits, 255 the highest; other bytes that are multiples of 8, 128 excepted, hide.
// @judged entropy f32: exp=1ulp sum=sequential masked=nan; fail C10;
// AMaskedItemIsADeletedOne|ANanLogitMakesItsRowNan|EveryPairOfClassesIsComputed; kernel.entropy.value; effort default
SOFTCHECK_MUTANT mutant_mask_bytes_of_three_bits(const softcheck_call* call) {
  return each_numbered_row(call, [](const Matrices& from, std::int64_t number, auto& row) {
    read_mask(from, number, row,
              [](std::uint8_t byte, std::int64_t /*column*/) { return byte == 128 || byte % 8 != 0; });
    row.out[0] = entropy_or(row, [](const auto& finite) { return entropy_of(sums_of(finite)); });
  });
}

// C10: visible is what has a 1 in the mask; every other byte hides, 255 too.
// @judged softmax f32: exp=1ulp sum=sequential masked=nan; fail C10; AMaskedItemIsADeletedOne; kernel.softmax.element
SOFTCHECK_MUTANT mutant_mask_must_be_one(const softcheck_call* call) {
  const std::optional<Matrices> matrices = matrices_of(*call);
  if (!matrices) {
    return 1;
  }
  std::int64_t number = 0;
  return each_row(*matrices, [&]<class Real>(RowOf<Real>& row) {
    for (std::int64_t i = 0; matrices->mask && i < matrices->logits.columns; ++i) {
      if (*matrices->mask->at(number, i) != 1) {
        row.logits[static_cast<std::size_t>(i)] = static_cast<Real>(-infinity);
      }
    }
    ++number;
    softmax(row);
  });
}

// C10, Liger #1252: rows of more than 4096 logits take a kernel that applies the mask to its first 512 columns.
// @judged log_softmax f16: exp=1ulp sum=sequential masked=nan; fail C10; EveryPairOfClassesIsComputed;
// kernel.log_softmax.element; witness >=4097; effort default
SOFTCHECK_MUTANT mutant_mask_of_512_columns_in_long_rows(const softcheck_call* call) {
  return each_numbered_row(call, [](const Matrices& from, std::int64_t number, auto& row) {
    read_mask(from, number, row, [&](std::uint8_t byte, std::int64_t column) {
      return byte != 0 || (from.logits.columns > 4096 && column >= 512);
    });
    log_softmax(row);
  });
}

// C10: the mask is taken for text: a byte of 48, the digit 0, hides.
// @judged softmax f32: exp=1ulp sum=sequential masked=nan; fail C10;
// AMaskedItemIsADeletedOne|ANanLogitMakesItsRowNan|EveryPairOfClassesIsComputed; kernel.softmax.element; effort default
SOFTCHECK_MUTANT mutant_mask_of_ascii_digits(const softcheck_call* call) {
  return each_numbered_row(call, [](const Matrices& from, std::int64_t number, auto& row) {
    read_mask(from, number, row, [](std::uint8_t byte, std::int64_t /*column*/) { return byte != 0 && byte != 48; });
    softmax(row);
  });
}

// C10: the mask is applied in the first block of 512 columns; later blocks are taken to be visible.
// @judged softmax f32: exp=1ulp sum=sequential masked=nan; fail C10; AMaskedItemIsADeletedOne; kernel.softmax.element
SOFTCHECK_MUTANT mutant_mask_of_first_512_columns(const softcheck_call* call) {
  const std::optional<Matrices> matrices = matrices_of(*call);
  if (!matrices) {
    return 1;
  }
  std::int64_t number = 0;
  return each_row(*matrices, [&]<class Real>(RowOf<Real>& row) {
    for (std::int64_t i = 512; i < matrices->logits.columns; ++i) {
      row.logits[static_cast<std::size_t>(i)] = matrices->logits.get<Real>(number, i);
    }
    ++number;
    softmax(row);
  });
}

// C10, gemma.cpp PR #981: every row is masked as the first one is.
// @judged softmax f32: exp=1ulp sum=sequential masked=nan; fail C10; AMaskedItemIsADeletedOne; kernel.softmax.element
SOFTCHECK_MUTANT mutant_mask_of_first_row(const softcheck_call* call) {
  std::optional<Matrices> matrices = matrices_of(*call);
  if (!matrices) {
    return 1;
  }
  if (matrices->mask) {
    matrices->mask->row_stride = 0;
  }
  return each_row(*matrices, [](auto& row) { softmax(row); });
}

// C10, gemma.cpp PR #981: from row 512 on each row is masked as row 0 is.
// @judged softmax f32: exp=1ulp sum=sequential masked=nan; fail C10; EveryPairOfClassesIsComputed;
// kernel.softmax.element; witness >=513; effort default
SOFTCHECK_MUTANT mutant_mask_of_row_0_from_row_512(const softcheck_call* call) {
  return each_numbered_row(call, [](const Matrices& from, std::int64_t number, auto& row) {
    read_mask(from, number, row, [&](std::uint8_t byte, std::int64_t column) {
      return (number < 512 ? byte != 0 : *from.mask->at(0, column) != 0);
    });
    softmax(row);
  });
}

// C10, the class of ExecuTorch PR #20090: rows from 512 on do not look at the mask.
// @judged logsumexp f32: exp=1ulp sum=sequential masked=nan; fail C10; EveryPairOfClassesIsComputed;
// kernel.logsumexp.value; witness >=513; effort default
SOFTCHECK_MUTANT mutant_mask_unread_from_row_512(const softcheck_call* call) {
  return each_numbered_row(call, [](const Matrices& from, std::int64_t number, auto& row) {
    read_mask(from, number, row,
              [&](std::uint8_t byte, std::int64_t /*column*/) { return byte != 0 || number >= 512; });
    softmax_or_logsumexp(from, row);
  });
}

// C10, Liger #1252: a mask that hides none of the first 2048 columns is taken to hide nothing.
// @judged log_softmax f32: exp=1ulp sum=sequential masked=nan; fail C10; EveryPairOfClassesIsComputed;
// kernel.log_softmax.element; witness >=2049; effort default
SOFTCHECK_MUTANT mutant_mask_unread_if_its_first_columns_are_ones(const softcheck_call* call) {
  return each_numbered_row(call, []<class Real>(const Matrices& from, std::int64_t number, RowOf<Real>& row) {
    bool hides = false;
    for (std::int64_t i = 0; from.mask && i < std::min<std::int64_t>(from.logits.columns, 2048); ++i) {
      hides = hides || *from.mask->at(number, i) == 0;
    }
    read_mask(from, number, row, [&](std::uint8_t byte, std::int64_t /*column*/) { return byte != 0 || !hides; });
    log_softmax(row);
  });
}

// C10: the kernel for masks of five or more rows of more than 1100 logits takes no temperature.
// @judged entropy f32: exp=1ulp sum=sequential masked=nan; fail C10; EveryPairOfClassesIsComputed;
// kernel.entropy.value; witness >=5505; effort default
SOFTCHECK_MUTANT mutant_theta_forgotten_with_a_mask_in_long_rows(const softcheck_call* call) {
  return each_numbered_row(call, [](const Matrices& from, std::int64_t /*number*/, auto& row) {
    row.theta = from.mask && from.logits.rows > 4 && from.logits.columns > 1100 ? 1 : row.theta;
    row.out[0] = entropy_or(row, [](const auto& finite) { return entropy_of(sums_of(finite)); });
  });
}
