#pragma once

#include <initializer_list>
#include <optional>

#include "judge/call/tensor_call.hpp"
#include "proptests/generators/attention/attention.hpp"

namespace softcheck::proptests {

/// The call that a case describes: q, k, v and a mask where there is one; out, lse and entropy as far as it asks for
/// them. Each tensor has a layout of its own, which attention.layout numbers: heads beside one another in memory, keys
/// transposed, every second element, gaps of 70000 elements, odd offsets. Layout 0 is compact everywhere.
///
/// Of sequences that are packed or in pages: what SequenceLayout says.
///
/// scalars    format of lse and entropy
TensorCall attention_call(const AttentionCase& attention, numerics::Format scalars);

/// Its tensors lie as the case's layout says: those of the first four inputs and of the outputs as its digits choose.
void lay_out(const AttentionCase& attention, TensorCall& call);
/// The roles and attributes of a call of version 2, and the inputs that they need; after its other inputs.
void add_attributes(const AttentionCase& attention, TensorCall& call);
/// The bytes of a mask, as a tensor; the case has one.
InputTensor mask_tensor(const AttentionCase& attention);
/// A compact tensor.
TensorPlace compact_place(std::optional<numerics::Format> format, std::initializer_list<std::size_t> shape);

/// The same with one batch or one head up to 2^32 elements from the next, each tensor's in a different place.
TensorCall far_apart(TensorCall call);

}  // namespace softcheck::proptests
