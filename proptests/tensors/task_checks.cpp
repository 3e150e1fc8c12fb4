#include "proptests/tensors/task_checks.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "proptests/judge/row_call.hpp"
#include "proptests/tensors/tensor_shape.hpp"

namespace softcheck::proptests {
namespace {

std::size_t own_inputs(Op op) { return op->inputs.size(); }

// Those that every task has.
std::size_t needed_inputs(Op op) {
  return static_cast<std::size_t>(std::ranges::count(op->inputs, false, &OpInput::optional));
}

// "logits, labels[, class_weights]"
std::string names_of(Op op) {
  std::string names;
  for (const OpInput& input : op->inputs) {
    const std::string name((names.empty() ? "" : ", ") + std::string(to_string(input.role)));
    names += input.optional ? "[" + name + "]" : name;
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
  if (!mask.is_mask()) throw std::invalid_argument("mask: need dtype uint8 or bool, got " + dtype_name(mask));
  require_memory(mask, "mask");
}

void require_indices(const HeldTensor& tensor, const std::string& name) {
  if (tensor.integer_bits == 0) {
    throw std::invalid_argument(name + ": need dtype int32 or int64, got " + dtype_name(tensor));
  }
  require_memory(tensor, name);
}

void require_same_format(const HeldTensor& tensor, const std::string& name, numerics::Format format,
                         const std::string& as) {
  if (tensor.format == format) return;
  throw std::invalid_argument(name + ": need dtype " + std::string(numerics::properties(format).name) + ", as " + as +
                              ", got " + dtype_name(tensor));
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
  const Attributes& attributes = task.attributes;
  const bool labels = has_labels(task.op);
  if (!(labels ? attributes.label_smoothing >= 0 && attributes.label_smoothing <= 1
               : attributes.label_smoothing == 0)) {
    refuse_parameter("label_smoothing", labels ? "a number in [0, 1]" : "0, as " + op + " has none",
                     attributes.label_smoothing);
  }
  if (!(labels ? attributes.softcap >= 0 && std::isfinite(attributes.softcap) : attributes.softcap == 0)) {
    refuse_parameter("softcap", labels ? "a finite number >= 0" : "0, as " + op + " has none here", attributes.softcap);
  }
  if (!(labels ? attributes.z_loss >= 0 && std::isfinite(attributes.z_loss) : attributes.z_loss == 0)) {
    refuse_parameter("z_loss", labels ? "a finite number >= 0" : "0, as " + op + " has none", attributes.z_loss);
  }
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
    throw std::invalid_argument(name + ": need a dtype of numbers, got " + dtype_name(task.inputs[0]));
  }
  return *task.inputs[0].format;
}

void require_numbers(const HeldTensor& tensor, const std::string& name) {
  if (!tensor.format) throw std::invalid_argument(name + ": need a dtype of numbers, got " + dtype_name(tensor));
  require_memory(tensor, name);
}

void require_task(const TensorTask& task) {
  if (!task.op->at_hand) {
    throw std::invalid_argument("op: need one whose results can be judged at hand, got " +
                                std::string(to_string(task.op)) + ": judge the kernel itself");
  }
  if (!task.op->extents.empty()) {
    throw std::invalid_argument("op: need one with a single output for each row, got " +
                                std::string(to_string(task.op)) + ": judge the kernel itself");
  }
  const std::size_t own = own_inputs(task.op), given = task.inputs.size();
  if ((given < needed_inputs(task.op) || given > own) && !(task.op->takes_mask && task.inputs.size() == own + 1)) {
    throw std::invalid_argument("inputs: need " + names_of(task.op) +
                                (task.op->takes_mask ? "[, mask], got " : ", got ") +
                                std::to_string(task.inputs.size()) + " tensors");
  }
  const numerics::Format format = input_format(task);
  for (std::size_t k = 0; k < std::min(own, given); ++k) {
    if (task.op->inputs[k].is_index) {
      require_indices(task.inputs[k], input_name(task.op, k));
      continue;
    }
    require_numbers(task.inputs[k], input_name(task.op, k));
    // Weights of classes may be wide, as a kernel's own parameters are.
    if (task.op->inputs[k].extent == Extent::classes && task.inputs[k].format == wide_format(format)) continue;
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
