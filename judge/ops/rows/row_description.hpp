#pragma once

#include <cstddef>
#include <string>

#include "judge/call/evidence.hpp"
#include "judge/op/op.hpp"
#include "judge/ops/rows/row_call.hpp"
#include "proptests/generators/row_matrices/row_matrix.hpp"

namespace softcheck::proptests {

/// As a case of one row reads, where the matrix is no more than that; else as the matrix.
std::string text_of(const RowMatrixCase& matrix);

/// A row's inputs and attributes, where they are not its logits alone: " (logits 0x1p+0 0x0p+0, labels 1, upstream
/// 0x1p+0, softcap 0x1.ep+4, ignore_index -100)". Of a longer row the first numbers, without its logits.
std::string words_of_row(const RowMatrixCase& matrix, Op op, numerics::Format input, std::size_t row);

/// What a report says of one row of a call, with words_of_row.
///
/// input    the format of what stands beside the drawn rows
/// form     what the mask of a call hides: up to four of these numbers are written out
CallDescription describe_call(const RowMatrixCase& matrix, Op op, numerics::Format input, const std::string& remark,
                              std::size_t row, const CallForm& form = {});
/// The same of a call with one value for all rows; the words of its first rows.
CallDescription describe_whole_call(const RowMatrixCase& matrix, Op op, numerics::Format input,
                                    const std::string& remark);

}  // namespace softcheck::proptests
