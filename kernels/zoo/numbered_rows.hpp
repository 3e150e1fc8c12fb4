#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "kernels/zoo/reference_rows.hpp"

// Glue of the bugs that appear only in some rows, columns or bytes of a call.
namespace softcheck::kernels::zoo {

/// The op by the shape of its output and by its choice: softmax for elements, logsumexp for one value of each row.
template <class Real>
void softmax_or_logsumexp(const Matrices& matrices, RowOf<Real>& row) {
  matrices.out_is_row_scalar ? logsumexp(row) : softmax(row);
}

/// As each_row; compute(matrices, number, row) also gets the call and the number of the row.
template <class Compute>
int each_numbered_row(const softcheck_call* call, Compute compute) {
  const std::optional<Matrices> matrices = matrices_of(*call);
  if (!matrices) return 1;
  std::int64_t number = 0;
  return each_row(*matrices, [&](auto& row) { compute(*matrices, number++, row); });
}
template <class Compute>
int each_numbered_row_at_theta_1(const softcheck_call* call, Compute compute) {
  return call->theta != 1 ? 1 : each_numbered_row(call, compute);
}
/// The op of each row that change(matrices, number, row) has changed, and its results changed by it. The narrow ones
/// compute in float and refuse f64.
template <class Op, class Real>
void put_row(Op op, const Matrices& matrices, RowOf<Real>& row) {
  if constexpr (std::is_invocable_v<Op, const Matrices&, RowOf<Real>&>) {
    op(matrices, row);
  } else {
    op(row);
  }
}
template <class Change, class Op>
int changed_rows(const softcheck_call* call, Change change, Op op) {
  return each_numbered_row(call, [&](const Matrices& matrices, std::int64_t number, auto& row) {
    change(matrices, number, row);
    put_row(op, matrices, row);
  });
}
template <class Change, class Op>
int changed_results(const softcheck_call* call, Change change, Op op) {
  return each_numbered_row(call, [&](const Matrices& matrices, std::int64_t number, auto& row) {
    put_row(op, matrices, row);
    change(matrices, number, row);
  });
}
inline constexpr auto softmax_or_logsumexp_row = [](const Matrices& matrices, auto& row) {
  softmax_or_logsumexp(matrices, row);
};
#define SOFTCHECK_BODY_changed_rows(name) SOFTCHECK_BODY_each_numbered_row(name)
#define SOFTCHECK_BODY_changed_results(name) SOFTCHECK_BODY_each_numbered_row(name)

#define SOFTCHECK_BODY_each_numbered_row(name)                                                            \
  SOFTCHECK_BODY(void, name, [[maybe_unused]] const Matrices& from, [[maybe_unused]] std::int64_t number, \
                 RowOf<Real>& row)
#define SOFTCHECK_BODY_each_numbered_row_at_theta_1(name) SOFTCHECK_BODY_each_numbered_row(name)

/// Reads the row again. An item is visible if visible(byte, column).
template <class Real, class Visible>
void read_mask(const Matrices& from, std::int64_t number, RowOf<Real>& row, Visible visible) {
  for (std::int64_t i = 0; from.mask && i < from.logits.columns; ++i) {
    const bool seen = visible(static_cast<std::uint8_t>(*from.mask->at(number, i)), i);
    row.logits[static_cast<std::size_t>(i)] = seen ? from.logits.get<Real>(number, i) : static_cast<Real>(-infinity);
  }
}

/// The bits of a logit in memory.
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

/// Number of bits of the fraction. The highest bit tells quiet NaNs from signalling ones.
inline int fraction_bits(DLDataType type) {
  if (type.bits == 64) return 52;
  if (type.bits == 32) return 23;
  return type.code == kDLBfloat ? 7 : 10;
}

/// Replaces a NaN by -inf if lost(column).
template <class Real, class Lost>
void lose_nans(RowOf<Real>& row, Lost lost) {
  for (std::size_t i = 0; i < row.logits.size(); ++i) {
    if (std::isnan(row.logits[i]) && lost(static_cast<std::int64_t>(i))) {
      row.logits[i] = static_cast<Real>(-infinity);
    }
  }
}

/// The op of each row, after replacing NaN items with lost(matrices, number, i) by -inf.
template <class Lost, class Op>
int rows_losing_nans(const softcheck_call* call, Lost lost, Op op) {
  const auto change = [&](const Matrices& matrices, std::int64_t number, auto& row) {
    lose_nans(row, [&](std::int64_t i) { return lost(matrices, number, i); });
  };
  return changed_rows(call, change, op);
}

/// The op of each row. An item is visible if visible(matrices, number, the mask's byte, i).
template <class Visible, class Op>
int rows_by_mask(const softcheck_call* call, Visible visible, Op op) {
  const auto change = [&](const Matrices& matrices, std::int64_t number, auto& row) {
    read_mask(matrices, number, row,
              [&](std::uint8_t byte, std::int64_t i) { return visible(matrices, number, byte, i); });
  };
  return changed_rows(call, change, op);
}

}  // namespace softcheck::kernels::zoo

#define SOFTCHECK_BODY_rows_losing_nans(name)                                                                  \
  SOFTCHECK_CALL_BODY(bool, name, [[maybe_unused]] const Matrices& from, [[maybe_unused]] std::int64_t number, \
                      [[maybe_unused]] std::int64_t i)
#define SOFTCHECK_BODY_rows_by_mask(name)                                                                      \
  SOFTCHECK_CALL_BODY(bool, name, [[maybe_unused]] const Matrices& from, [[maybe_unused]] std::int64_t number, \
                      [[maybe_unused]] std::uint8_t byte, [[maybe_unused]] std::int64_t column)
