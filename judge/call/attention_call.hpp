#pragma once

#include <initializer_list>
#include <optional>

#include "judge/call/tensor_call.hpp"
#include "proptests/generators/attention/attention.hpp"

namespace softcheck::proptests {

/// The call that a case describes: q, k, v and the mask if there is one; out, and lse and entropy if the case asks for
/// them. Each tensor has its own layout, numbered by attention.layout: interleaved heads, transposed keys, every second
/// element, gaps of 70000 elements, odd offsets. Layout 0 is compact everywhere. SequenceLayout lays out packed and
/// paged sequences.
///
/// scalars    format of lse and entropy
TensorCall attention_call(const AttentionCase& attention, numerics::Format scalars);

/// Lays out the first four inputs and the outputs by the digits of the case's layout.
void lay_out(const AttentionCase& attention, TensorCall& call);
/// Adds the roles and attributes of a version 2 call, and the inputs that they need, after the call's other inputs.
void add_attributes(const AttentionCase& attention, TensorCall& call);
/// Index of a case's element in this input of the call, whose heads may be interleaved.
std::size_t element_in_call(const AttentionCase& attention, const TensorCall& call, std::size_t input,
                            std::size_t element);
/// Gives the outputs of the call the case's order of heads.
void restore_heads(const AttentionCase& attention, const TensorCall& call, std::vector<std::vector<double>>& outputs);
/// The mask's bytes as a tensor. The case must have a mask.
InputTensor mask_tensor(const AttentionCase& attention);
/// A compact tensor.
TensorPlace compact_place(std::optional<numerics::Format> format, std::initializer_list<std::size_t> shape);

/// The same call with one batch or head up to 2^32 elements from the next, at a different distance in each tensor.
TensorCall far_apart(TensorCall call);

}  // namespace softcheck::proptests
