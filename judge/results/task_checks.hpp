#pragma once

#include <span>
#include <string>
#include <vector>

#include "judge/results/tensor_judge.hpp"

namespace softcheck::proptests {

/// Name of input k of a task, or of output k of an op: "logits", "k", "lse".
std::string input_name(const TensorTask& task, std::size_t k);
std::string output_name(Op op, std::size_t k);

/// The op's number of the caller's output k.
std::size_t number_of_output(const TensorTask& task, std::size_t k);
/// throws   std::invalid_argument if the op has no such output, or the task lacks the input that it is a gradient by
void require_output_number(const TensorTask& task, std::size_t which);

/// The roles of the task's inputs, in order.
std::vector<Role> roles_of(const TensorTask& task);
/// The input in a role; null if there is none.
const GivenTensor* input_of(const TensorTask& task, Role role);
/// The op's own input k (OpTraits::inputs); the task must have it.
const GivenTensor& own_input(const TensorTask& task, std::size_t k);
/// Does the op have several outputs, all of them required?
bool has_parts(Op op);
/// Is the op a gradient of attention?
bool is_attention_gradient(Op op);
/// Does the op merge partial states, so that its rows are log-sum-exps?
bool merges_states(Op op);
/// Can the op be judged without its input in this role (saved forward outputs, class weights)?
bool is_optional(Op op, Role role);

/// Does the task have a mask?
bool has_mask(const TensorTask& task);
/// The input whose dtype is the contract's.
Role role_of_format(Op op);
/// Is the input f64 for f64 and f32 for all other formats?
bool is_wide(Op op, Role role);
/// throws   std::invalid_argument if there is none
numerics::Format input_format(const TensorTask& task);

/// Checks the number of tensors, their dtypes and data, theta, scale and causal: everything but shapes that depend on
/// each other.
///
/// throws   std::invalid_argument with the tensor, what is needed and what was given
void require_task(const TensorTask& task);

/// Checks that the formats are the contract's, and that the op can have this many outputs.
/// throws   std::invalid_argument
void require_formats(const TensorTask& task, const numerics::Contract& contract, std::span<const GivenTensor> outputs);

/// Checks that the tensor holds numbers, has memory, and a stride per dimension.
/// throws   std::invalid_argument
void require_numbers(const GivenTensor& tensor, const std::string& name);

/// Checks theta, scale, causal and the attributes: those that the op has must be in range, the others off.
///
/// throws   std::invalid_argument with the parameter, what is needed and what was given
void require_parameters(const TensorTask& task);

}  // namespace softcheck::proptests
