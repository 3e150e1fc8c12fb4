#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "judge/call/evidence.hpp"
#include "judge/exhaustive/quick_rows.hpp"
#include "judge/ops/rows/row_judge.hpp"
#include "proptests/generators/attention/attention.hpp"
#include "proptests/generators/row_matrices/row_matrix.hpp"

namespace softcheck::proptests {

/// The numbers of a format, side by side in memory.
///
/// bytes    a multiple of the format's
/// values   as many
void decode_all(numerics::Format format, std::span<const std::byte> bytes, std::span<double> values);

/// A row as a kernel got it and what it made of it.
struct EnumeratedRow {
  RowShape shape;
  std::span<const std::byte> bytes;      // of its logits; of attention of its query
  std::span<const std::byte> auxiliary;  // of attention, of its keys
  std::span<const double> logits;        // of attention the query and its keys
  std::span<const double> got;           // of attention the output, and lse and entropy where the kernel returns them
};

/// One row of a call as a case of its own: NaNs and +inf as the case's specials.
RowMatrixCase row_as_case(numerics::Format format, std::span<const std::byte> row, double theta);

/// A query and its keys as a call of attention. Where a number is NaN, the case's nan names it, with the bits of the
/// six that such a case can have that are nearest in kind.
AttentionCase query_as_case(numerics::Format format, const EnumeratedRow& row);

/// The case that shows a row, as a replay takes it.
std::string case_text_of(Op op, numerics::Format format, const EnumeratedRow& row);
/// What a report says of the call with that row alone.
CallDescription describe_call(Op op, numerics::Format format, const EnumeratedRow& row);

/// Claims on rows with a NaN, or with +inf.
inline constexpr std::string_view nan_claim = "kernel.nan_row", infinite_claim = "kernel.infinite_row";

/// What the judge says of one row: enclosures end every verdict.
struct RowOpinion {
  std::vector<ValueFinding> findings;
  VacuityCount vacuity;
  bool special = false;  // a NaN or +inf among its logits
};

/// Has the row a NaN, and is every value of it NaN?
bool is_nan_as_due(const EnumeratedRow& row);

/// judge_values, judge_limit, judge_attention, or whether every value of a row with a NaN is NaN.
RowOpinion opinion_of(Op op, const numerics::Contract& contract, const EnumeratedRow& row);

}  // namespace softcheck::proptests
