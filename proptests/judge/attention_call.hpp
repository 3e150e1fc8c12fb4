#pragma once

#include "proptests/generators/attention.hpp"
#include "proptests/judge/tensor_call.hpp"

namespace softcheck::proptests {

/// The call that a case describes: q, k, v and a mask where there is one; out, lse and entropy as far as it asks for
/// them. Each tensor has a layout of its own, which attention.layout numbers: heads beside one another in memory, keys
/// transposed, every second element, gaps of 70000 elements, odd offsets. Layout 0 is compact everywhere.
///
/// scalars    format of lse and entropy
TensorCall attention_call(const AttentionCase& attention, numerics::Format scalars);

/// The same with one batch or one head up to 2^32 elements from the next, each tensor's in a different place.
TensorCall far_apart(TensorCall call);

}  // namespace softcheck::proptests
