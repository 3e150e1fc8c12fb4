#pragma once

#include <string>

#include "proptests/generators/row_matrix.hpp"
#include "proptests/judge/op.hpp"
#include "proptests/judge/tensor_call.hpp"

namespace softcheck::proptests {

/// The call that hands a matrix of logits to a kernel. Behind a mask lies what an unwritten cache may hold: NaN,
/// infinities, the largest numbers; what is visible is so by any nonzero byte.
///
/// in_place   the output is the logits' view, and matrix.out is not used
TensorCall call_of(const RowMatrixCase& matrix, Op op, numerics::Format output, bool in_place = false);

/// Nearly the same rows for a kernel that takes neither temperatures nor masks nor strides: x / theta, rounded to the
/// format, at theta 1, and -inf for what is masked.
RowMatrixCase plain_form(const RowMatrixCase& matrix);

/// What a call asks of a kernel, as refusals are counted: "with a mask".
std::string kind_of(const RowMatrixCase& matrix);

}  // namespace softcheck::proptests
