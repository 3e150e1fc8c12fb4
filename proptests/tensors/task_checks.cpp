#include "proptests/tensors/task_checks.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "proptests/tensors/tensor_shape.hpp"

namespace softcheck::proptests {
namespace {

std::string format_name(const std::optional<numerics::Format>& format) {
  return format ? std::string(numerics::properties(*format).name) : "a mask of bytes";
}

std::size_t own_inputs(Op op) { return op->inputs.size(); }

std::string names_of(Op op) {
  std::string names;
  for (const OpInput& input : op->inputs) {
    names += (names.empty() ? "" : ", ") + std::string(to_string(input.role));
  }
  return names;
}

void require_memory(const HeldTensor& tensor, const std::string& name) {
  if (tensor.strides.size() != tensor.shape.size()) {
    throw std::invalid_argument(name + ": need a stride for each of " + std::to_string(tensor.shape.size()) +
                                " dimensions, got " + std::to_string(tensor.strides.size()));
  }
  const std::size_t elements = elements_of(tensor.shape, name);
  if (elements > 0 && tensor.first == nullptr) {
    throw std::invalid_argument(name + ": need data for " + std::to_string(elements) + " elements, got NULL");
  }
}

void require_mask(const HeldTensor& mask) {
  if (mask.format) throw std::invalid_argument("mask: need dtype uint8 or bool, got " + format_name(mask.format));
  require_memory(mask, "mask");
}

void require_same_format(const HeldTensor& tensor, const std::string& name, numerics::Format format,
                         const std::string& as) {
  if (tensor.format == format) return;
  throw std::invalid_argument(name + ": need dtype " + format_name(format) + ", as " + as + ", got " +
                              format_name(tensor.format));
}

[[noreturn]] void refuse_parameter(const char* name, const std::string& need, double got) {
  throw std::invalid_argument(std::string(name) + ": need " + need + ", got " + std::to_string(got));
}

void require_parameters(const TensorTask& task) {
  const std::string op(to_string(task.op));
  if (!task.op->has_theta && task.theta != 1)
    refuse_parameter("theta", "1, as " + op + " has no temperature", task.theta);
  // The judge's own arithmetic holds in this range (numerics/row_filter.hpp).
  if (!(task.theta >= 0x1p-1000 && task.theta <= 0x1p1000)) {
    refuse_parameter("theta", "a temperature in [2^-1000, 2^1000]", task.theta);
  }
  if (!task.op->attention && task.scale != 1) refuse_parameter("scale", "1, as " + op + " has none", task.scale);
  if (!std::isfinite(task.scale)) refuse_parameter("scale", "a finite number", task.scale);
  if (!task.op->attention && task.causal) throw std::invalid_argument("causal: need false, as " + op + " has none");
}

}  // namespace

std::string input_name(Op op, std::size_t k) {
  return std::string(to_string(k < own_inputs(op) ? op->inputs[k].role : Role::mask));
}

std::string output_name(Op op, std::size_t k) { return std::string(op->outputs[std::min(k, op->outputs.size() - 1)]); }

bool has_mask(const TensorTask& task) { return task.inputs.size() > own_inputs(task.op); }

numerics::Format input_format(const TensorTask& task) {
  const std::string name = input_name(task.op, 0);
  if (task.inputs.empty()) throw std::invalid_argument("inputs: need " + name + ", got no tensor");
  if (!task.inputs[0].format) {
    throw std::invalid_argument(name + ": need a dtype of numbers, got " + format_name(std::nullopt));
  }
  return *task.inputs[0].format;
}

void require_numbers(const HeldTensor& tensor, const std::string& name) {
  if (!tensor.format) throw std::invalid_argument(name + ": need a dtype of numbers, got " + format_name(std::nullopt));
  require_memory(tensor, name);
}

void require_task(const TensorTask& task) {
  if (std::ranges::any_of(task.op->inputs, [](const OpInput& input) { return input.is_index; })) {
    throw std::invalid_argument("op: need one whose inputs are numbers, got " + std::string(to_string(task.op)) +
                                ": judge the kernel itself");
  }
  if (!task.op->extents.empty()) {
    throw std::invalid_argument("op: need one with a single output for each row, got " +
                                std::string(to_string(task.op)) + ": judge the kernel itself");
  }
  const std::size_t own = own_inputs(task.op);
  if (task.inputs.size() != own && !(task.op->takes_mask && task.inputs.size() == own + 1)) {
    throw std::invalid_argument("inputs: need " + names_of(task.op) +
                                (task.op->takes_mask ? "[, mask], got " : ", got ") +
                                std::to_string(task.inputs.size()) + " tensors");
  }
  const numerics::Format format = input_format(task);
  for (std::size_t k = 0; k < own; ++k) {
    require_numbers(task.inputs[k], input_name(task.op, k));
    require_same_format(task.inputs[k], input_name(task.op, k), format, input_name(task.op, 0) + " has it");
  }
  if (has_mask(task)) require_mask(task.inputs[own]);
  require_parameters(task);
}

void require_formats(const TensorTask& task, const numerics::Contract& contract, std::span<const HeldTensor> outputs) {
  const std::size_t most = task.op->outputs.size();
  if (outputs.empty() || outputs.size() > most) {
    throw std::invalid_argument("outputs: need " + std::string(most == 1 ? "one tensor" : "output[, lse[, entropy]]") +
                                ", got " + std::to_string(outputs.size()) + " tensors");
  }
  for (std::size_t k = 0; k < outputs.size(); ++k) require_numbers(outputs[k], output_name(task.op, k));
  require_same_format(task.inputs[0], input_name(task.op, 0), contract.input, "the contract has it");
  require_same_format(outputs[0], output_name(task.op, 0), contract.output, "the contract has it");
  if (outputs.size() == 3) require_same_format(outputs[2], "entropy", *outputs[1].format, "lse has it");
}

}  // namespace softcheck::proptests
