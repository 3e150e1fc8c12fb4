#pragma once

#include <cstddef>
#include <string>

#include "judge/call/evidence.hpp"
#include "judge/op/op.hpp"
#include "judge/ops/rows/row_call.hpp"
#include "proptests/generators/row_matrices/row_matrix.hpp"

namespace softcheck::proptests {

/// The text of a one-row case if the matrix is one, else of the matrix.
std::string text_of(const RowMatrixCase& matrix);

/// A row's inputs and attributes, if it has more than logits: " (logits 0x1p+0 0x0p+0, labels 1, upstream 0x1p+0,
/// softcap 0x1.ep+4, ignore_index -100)". A longer row shows its first numbers, and no logits.
std::string words_of_row(const RowMatrixCase& matrix, Op op, numerics::Format input, std::size_t row);

/// The description of one row of a call, including words_of_row.
///
/// input    format of the inputs other than the drawn rows
/// form     says what the call's mask hides; the text shows up to four of these numbers
CallDescription describe_call(const RowMatrixCase& matrix, Op op, numerics::Format input, const std::string& remark,
                              std::size_t row, const CallForm& form = {});
/// The same for a call with one value for all rows, with the words of its first rows.
CallDescription describe_whole_call(const RowMatrixCase& matrix, Op op, numerics::Format input,
                                    const std::string& remark);

}  // namespace softcheck::proptests
