#pragma once

#include <span>
#include <string>
#include <string_view>

#include "numerics/format.hpp"

namespace softcheck::proptests {

/// What a kernel of the softmax family computes of a row of logits (kernels/abi/softcheck_kernel.h).
enum class Op { softmax, log_softmax, logsumexp, entropy, adaptive_softmax };

std::span<const Op> all_ops();
std::string_view to_string(Op op);

/// throws   std::invalid_argument naming the known ops
Op parse_op(std::string_view name);

/// One value for each row, not for each element.
bool is_row_scalar(Op op);

/// Format of the output for logits of format input: the input's, but f32 for the row scalars of 16-bit logits.
numerics::Format output_format(Op op, numerics::Format input);

}  // namespace softcheck::proptests
