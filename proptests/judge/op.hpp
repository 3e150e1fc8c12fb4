#pragma once

#include <span>
#include <string>
#include <string_view>

#include "numerics/format.hpp"

namespace softcheck::proptests {

/// What a kernel computes (kernels/abi/softcheck_kernel.h): of a row of logits, or of queries, keys and values.
enum class Op { softmax, log_softmax, logsumexp, entropy, adaptive_softmax, attention, adaptive_attention };

std::span<const Op> all_ops();
/// Those of the softmax family: of rows of logits.
std::span<const Op> row_ops();
bool is_attention(Op op);
std::string_view to_string(Op op);

/// throws   std::invalid_argument naming the known ops
Op parse_op(std::string_view name);

/// One value for each row, not for each element.
bool is_row_scalar(Op op);

/// Format that the ABI gives an output for an input of some format: the input's, but f32 for the row scalars of 16-bit
/// logits. Of attention that of lse and entropy: out always has the input's.
numerics::Format output_format(Op op, numerics::Format input);

}  // namespace softcheck::proptests
