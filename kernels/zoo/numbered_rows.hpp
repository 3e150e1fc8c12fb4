#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "kernels/zoo/reference_rows.hpp"

// Glue of the bugs that only some rows, columns or bytes of a call show.
namespace softcheck::kernels::zoo {

/// As each_row; compute(matrices, number, row) also gets the call and the number of the row.
template <class Compute>
int each_numbered_row(const softcheck_call* call, Compute compute) {
  const std::optional<Matrices> matrices = matrices_of(*call);
  if (!matrices) {
    return 1;
  }
  std::int64_t number = 0;
  return each_row(*matrices, [&](auto& row) { compute(*matrices, number++, row); });
}

/// The op by the shape of its output and by its choice: softmax for elements, logsumexp for one value of each row.
template <class Real>
void softmax_or_logsumexp(const Matrices& matrices, RowOf<Real>& row) {
  if (!matrices.out_is_row_scalar) {
    softmax(row);
    return;
  }
  row.out[0] = logsumexp_or(row, [](const auto& finite) { return logsumexp_of(finite, sums_of(finite)); });
}

/// Reads the row again, each item visible where visible(byte, column) says so.
template <class Real, class Visible>
void read_mask(const Matrices& from, std::int64_t number, RowOf<Real>& row, Visible visible) {
  for (std::int64_t i = 0; from.mask && i < from.logits.columns; ++i) {
    const bool seen = visible(static_cast<std::uint8_t>(*from.mask->at(number, i)), i);
    row.logits[static_cast<std::size_t>(i)] = seen ? from.logits.get<Real>(number, i) : static_cast<Real>(-infinity);
  }
}

/// The bits of a logit as they lie in memory.
inline std::uint64_t stored_bits(const Matrices& from, std::int64_t number, std::int64_t column) {
  const char* at = from.logits.at(number, column);
  switch (from.logits.type.bits) {
    case 64:
      return bits_at<std::uint64_t>(at);
    case 32:
      return bits_at<std::uint32_t>(at);
    default:
      return bits_at<std::uint16_t>(at);
  }
}

/// Bits of the fraction: the highest tells quiet NaNs from signalling ones.
inline int fraction_bits(DLDataType type) {
  if (type.bits == 64) return 52;
  if (type.bits == 32) return 23;
  return type.code == kDLBfloat ? 7 : 10;
}

/// Takes a NaN for -inf where lost(column) says so.
template <class Real, class Lost>
void lose_nans(RowOf<Real>& row, Lost lost) {
  for (std::size_t i = 0; i < row.logits.size(); ++i) {
    if (std::isnan(row.logits[i]) && lost(static_cast<std::int64_t>(i))) {
      row.logits[i] = static_cast<Real>(-infinity);
    }
  }
}

}  // namespace softcheck::kernels::zoo
