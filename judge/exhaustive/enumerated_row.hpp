#pragma once

#include <cstddef>
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

/// Decodes contiguous numbers of a format.
///
/// bytes    a multiple of the format's size
/// values   as many as numbers in bytes
void decode_all(numerics::Format format, std::span<const std::byte> bytes, std::span<double> values);

/// A row as the kernel got it, with its results.
struct EnumeratedRow {
  RowShape shape;
  std::span<const std::byte> bytes;      // the logits; for attention the query
  std::span<const std::byte> auxiliary;  // for attention the keys
  std::span<const double> logits;        // for attention the query and its keys
  std::span<const double> got;           // for attention the output, then lse and entropy if the kernel returns them
};

/// One row of a call as a case; NaNs and +inf become the case's specials.
RowMatrixCase row_as_case(numerics::Format format, std::span<const std::byte> row, double theta);

/// A query and its keys as a call of attention. If a number is NaN, the case's nan places it, with the nearest of the
/// six bit patterns that a case can have.
AttentionCase query_as_case(numerics::Format format, const EnumeratedRow& row);

/// The text of the case that replays a row.
std::string case_text_of(Op op, numerics::Format format, const EnumeratedRow& row);
/// The description of a call with only that row.
CallDescription describe_call(Op op, numerics::Format format, const EnumeratedRow& row);

/// Claims on rows with a NaN, or with +inf.
inline constexpr std::string_view nan_claim = "kernel.nan_row", infinite_claim = "kernel.infinite_row";

/// The judge's findings about one row. Enclosures decide all of them.
struct RowOpinion {
  std::vector<ValueFinding> findings;
  VacuityCount vacuity;
  bool special = false;  // has a NaN or +inf among its logits
};

/// Does the row hold a NaN, and are all its values NaN?
bool is_nan_as_due(const EnumeratedRow& row);

/// judge_values, judge_limit or judge_attention; for a row with a NaN, whether every value is NaN.
RowOpinion opinion_of(Op op, const numerics::Contract& contract, const EnumeratedRow& row);

}  // namespace softcheck::proptests
