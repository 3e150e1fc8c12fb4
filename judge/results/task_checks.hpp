#pragma once

#include <span>
#include <string>
#include <vector>

#include "judge/results/tensor_judge.hpp"

namespace softcheck::proptests {

/// Of input number k of a task, or of output number k of an op: "logits", "k", "lse".
std::string input_name(const TensorTask& task, std::size_t k);
std::string output_name(Op op, std::size_t k);

/// Which of the op's outputs is output number k at hand.
std::size_t number_of_output(const TensorTask& task, std::size_t k);
/// throws   std::invalid_argument where the op has no such output, or the task not the input that it is a gradient by
void require_output_number(const TensorTask& task, std::size_t which);

/// The roles of the task's inputs, in their order.
std::vector<Role> roles_of(const TensorTask& task);
/// The input in a role; nothing where there is none.
const GivenTensor* input_of(const TensorTask& task, Role role);
/// The op's own input number k (OpTraits::inputs); the task has it.
const GivenTensor& own_input(const TensorTask& task, std::size_t k);
/// Has the op several outputs, all of which are needed?
bool has_parts(Op op);
/// Of queries, keys and values, are they gradients by these?
bool is_attention_gradient(Op op);
/// Are its rows the log-sum-exps of partial results?
bool merges_states(Op op);
/// May the op be judged at hand without its input in this role: what the forward pass returned, class weights?
bool is_optional(Op op, Role role);

/// Is there a mask?
bool has_mask(const TensorTask& task);
/// The input whose dtype is the contract's.
Role role_of_format(Op op);
/// Is an input f64 for f64 and f32 for all others?
bool is_wide(Op op, Role role);
/// throws   std::invalid_argument where there is none
numerics::Format input_format(const TensorTask& task);

/// Number of tensors, their dtypes and data, theta, scale and causal: everything but the shapes of what depends on
/// others.
///
/// throws   std::invalid_argument naming the tensor, what is needed and what was got
void require_task(const TensorTask& task);

/// The formats are the contract's, and there are as many outputs as the op may have.
/// throws   std::invalid_argument
void require_formats(const TensorTask& task, const numerics::Contract& contract, std::span<const GivenTensor> outputs);

/// A tensor of numbers in memory, with a stride for each dimension.
/// throws   std::invalid_argument
void require_numbers(const GivenTensor& tensor, const std::string& name);

/// theta, scale, causal and the attributes: those that the op has are in their ranges, all others are off.
///
/// throws   std::invalid_argument naming the parameter, what is needed and what was got
void require_parameters(const TensorTask& task);

}  // namespace softcheck::proptests
