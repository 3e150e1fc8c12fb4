#pragma once

#include <cstddef>
#include <string>

#include "proptests/generators/row_matrices/row_matrix.hpp"
#include "proptests/judge/calls/evidence.hpp"
#include "proptests/judge/calls/row_call.hpp"
#include "proptests/judge/op.hpp"

namespace softcheck::proptests {

/// As a case of one row reads, where the matrix is no more than that; else as the matrix.
std::string text_of(const RowMatrixCase& matrix);

/// What a report says of one row of a call. A short row's inputs and attributes are written out where they are not its
/// logits alone: " (saved 0x1p-1 0x1p-1, out_gradient 0x1p+0 0x0p+0)".
///
/// input    the format of what stands beside the drawn rows
/// form     what the mask of a call hides: up to four of these numbers are written out
Asked asked_of(const RowMatrixCase& matrix, Op op, numerics::Format input, const std::string& remark, std::size_t row,
               const CallForm& form = {});

}  // namespace softcheck::proptests
