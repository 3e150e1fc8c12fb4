#pragma once

#include <string>

#include "proptests/generators/row_matrix.hpp"
#include "proptests/judge/op.hpp"
#include "proptests/judge/tensor_call.hpp"
#include "proptests/judge/watched_kernel.hpp"

namespace softcheck::proptests {

/// What of a call is no matter of its matrix.
struct CallForm {
  bool in_place = false;      // the output is the logits' view, and matrix.out is not used
  std::size_t alignment = 1;  // of every tensor's first address, in bytes
  bool finite = false;        // behind a mask lie the largest numbers alone
};

/// The call that hands a matrix of logits to a kernel. Behind a mask lies what an unwritten cache may hold: NaN,
/// infinities, the largest numbers; what is visible is so by any nonzero byte.
///
TensorCall call_of(const RowMatrixCase& matrix, Op op, numerics::Format output, const CallForm& form = {});

/// The largest power of two, up to a page, that divides the first address of every tensor of the call.
std::uint64_t alignment_of(const TensorCall& call);

/// Nearly the same rows for a kernel that does not take all that the matrix asks for: without NaNs, without a mask
/// (-inf for what it hides), without -inf, compact, at theta 1 (x / theta rounded to the format), and any of these
/// together; those that differ least come first.
std::vector<RowMatrixCase> simpler_forms(const RowMatrixCase& matrix);

/// What a call asks of a kernel, as refusals are counted: "with a mask".
CallKind kind_of(const RowMatrixCase& matrix);

}  // namespace softcheck::proptests
