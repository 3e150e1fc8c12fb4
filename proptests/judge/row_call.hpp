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

/// What a call asks of a kernel, as refusals are counted: "with a mask".
std::string kind_of(const RowMatrixCase& matrix);

}  // namespace softcheck::proptests
