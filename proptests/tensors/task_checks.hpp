#pragma once

#include <span>
#include <string>

#include "proptests/tensors/tensor_judge.hpp"

namespace softcheck::proptests {

/// Of input or output number k of an op: "logits", "k", "lse".
std::string input_name(Op op, std::size_t k);
std::string output_name(Op op, std::size_t k);

/// Is the last input a mask?
bool has_mask(const TensorTask& task);
/// throws   std::invalid_argument where there is none
numerics::Format input_format(const TensorTask& task);

/// Number of tensors, their dtypes and data, theta, scale and causal: everything but the shapes of what depends on
/// others.
///
/// throws   std::invalid_argument naming the tensor, what is needed and what was got
void require_task(const TensorTask& task);

/// The formats are the contract's, and there are as many outputs as the op may have.
/// throws   std::invalid_argument
void require_formats(const TensorTask& task, const numerics::Contract& contract, std::span<const HeldTensor> outputs);

/// A tensor of numbers in memory, with a stride for each dimension.
/// throws   std::invalid_argument
void require_numbers(const HeldTensor& tensor, const std::string& name);

}  // namespace softcheck::proptests
