#include "judge/results/task_checks.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "judge/ops/rows/row_call.hpp"
#include "judge/results/given_tensor.hpp"

namespace softcheck::proptests {
namespace {

// The op's own inputs in the ABI's order.
std::vector<Role> own_roles(Op op) {
  std::vector<Role> roles;
  for (const OpInput& input : op->inputs) roles.push_back(input.role);
  if (op->is_of_states()) std::rotate(roles.begin(), roles.begin() + 1, roles.end());
  return roles;
}

std::vector<Role> needed_roles(Op op) {
  std::vector<Role> roles = own_roles(op);
  std::erase_if(roles, [op](Role role) { return is_optional(op, role); });
  return roles;
}

std::string list_of(const std::vector<Role>& roles) {
  std::string names;
  for (const Role role : roles) names += (names.empty() ? "" : ", ") + std::string(to_string(role));
  return names;
}

// "q, k, v, out_gradient[, out, lse][, mask]"
std::string names_of(Op op) {
  const std::vector<Role> needed = needed_roles(op);
  std::vector<Role> optional = own_roles(op);
  std::erase_if(optional, [op](Role role) { return !is_optional(op, role); });
  std::string names = list_of(needed);
  if (!optional.empty()) names += "[, " + list_of(optional) + "]";
  return names + (op->takes_mask ? "[, mask]" : "");
}

void require_memory(const GivenTensor& tensor, const std::string& name) {
  if (tensor.strides.size() != tensor.shape.size()) {
    throw std::invalid_argument(name + ": need a stride for each of " + std::to_string(tensor.shape.size()) +
                                " dimensions, got " + std::to_string(tensor.strides.size()));
  }
  const std::size_t elements = elements_of(tensor.shape, name);
  if (elements > 0 && tensor.first == nullptr) {
    throw std::invalid_argument(name + ": need data for " + std::to_string(elements) + " elements, got NULL");
  }
}

void require_mask(const GivenTensor& mask, const std::string& name) {
  if (!mask.is_mask()) throw std::invalid_argument(name + ": need dtype uint8 or bool, got " + dtype_name(mask));
  require_memory(mask, name);
}

void require_indices(const GivenTensor& tensor, const std::string& name) {
  if (tensor.integer_bits == 0) {
    throw std::invalid_argument(name + ": need dtype int32 or int64, got " + dtype_name(tensor));
  }
  require_memory(tensor, name);
}

void require_same_format(const GivenTensor& tensor, const std::string& name, numerics::Format format,
                         const std::string& as) {
  if (tensor.format == format) return;
  throw std::invalid_argument(name + ": need dtype " + std::string(numerics::properties(format).name) + ", as " + as +
                              ", got " + dtype_name(tensor));
}

// The op's definition of an input; null for a mask and for attention's attributes.
const OpInput* definition_of(Op op, Role role) {
  const auto found = std::ranges::find(op->inputs, role, &OpInput::role);
  return found == op->inputs.end() ? nullptr : &*found;
}

void require_roles(const TensorTask& task) {
  const std::vector<Role> roles = roles_of(task), needed = needed_roles(task.op);
  const auto has = [&](Role role) { return std::ranges::find(roles, role) != roles.end(); };
  bool fits = roles.size() == task.inputs.size() && std::ranges::all_of(needed, has);
  for (const Role role : roles) {
    const bool term = role == Role::sinks || role == Role::slopes || role == Role::bias ||
                      (role == Role::dropout && !is_attention_gradient(task.op) && task.op->may_drop());
    const bool known = definition_of(task.op, role) != nullptr || (role == Role::mask && task.op->takes_mask) ||
                       (term && task.op->attributes) || (role == Role::lse_gradient && is_attention_gradient(task.op));
    if (!known) {
      throw std::invalid_argument(std::string(to_string(role)) + ": need no such input, as " +
                                  std::string(to_string(task.op)) + " at hand has none");
    }
    fits = fits && std::ranges::count(roles, role) == 1;
  }
  if (is_attention_gradient(task.op)) fits = fits && has(Role::out) == has(Role::lse);
  if (fits) return;
  throw std::invalid_argument("inputs: need " + names_of(task.op) + ", got " +
                              (task.roles.empty() ? std::to_string(task.inputs.size()) + " tensors" : list_of(roles)));
}

// Keys and values of one dtype may be narrower than the queries.
bool is_cache(const TensorTask& task, Role role, const GivenTensor& tensor, numerics::Format of_queries) {
  const auto bits = [](numerics::Format format) { return numerics::properties(format).storage_bits; };
  const GivenTensor* const keys = input_of(task, Role::key);
  const bool cached = task.op->is_attention() && !is_attention_gradient(task.op) &&
                      (role == Role::key || role == Role::value || role == Role::second_key);
  return cached && tensor.format && keys->format == tensor.format && bits(*tensor.format) < bits(of_queries);
}

void require_input(const TensorTask& task, Role role, const GivenTensor& tensor, numerics::Format format) {
  const std::string name(to_string(role)), first(to_string(role_of_format(task.op)));
  const OpInput* const definition = definition_of(task.op, role);
  if (role == Role::mask || role == Role::dropout) return require_mask(tensor, name);
  if (definition != nullptr && definition->is_index) return require_indices(tensor, name);
  require_numbers(tensor, name);
  // Class weights may be wide, like other parameters of a kernel.
  const bool of_classes = definition != nullptr && definition->extent == Extent::classes;
  if (of_classes && tensor.format == wide_format(format)) return;
  if (is_cache(task, role, tensor, format)) return;
  if (!is_wide(task.op, role)) return require_same_format(tensor, name, format, first + " has it");
  require_same_format(tensor, name, wide_format(format),
                      first + " is " + std::string(numerics::properties(format).name));
}

// Checks output k of an op with several outputs.
void require_auxiliary(const TensorTask& task, const numerics::Contract& contract, const GivenTensor& output,
                       std::size_t k) {
  k = number_of_output(task, k);
  const std::string name = output_name(task.op, k);
  if (!task.op->elements.empty() && task.op->elements[k] == OutputElement::index) return require_indices(output, name);
  require_numbers(output, name);
  if (task.op->extents[k] != Extent::rows) {
    return require_same_format(output, name, contract.output, output_name(task.op, 0) + " has it");
  }
  require_same_format(output, name, wide_format(contract.input),
                      "the inputs are " + std::string(numerics::properties(contract.input).name));
}

[[noreturn]] void refuse_dtype(const GivenTensor& tensor, const std::string& name) {
  throw std::invalid_argument(name + ": need dtype " + numerics::format_names() + ", got " + dtype_name(tensor));
}

std::string outputs_needed(const TensorTask& task) {
  const Op op = task.op;
  if (!has_parts(op)) return op->outputs.size() == 1 ? "one tensor" : "output[, lse[, entropy]]";
  std::string names;
  for (const std::string_view name : op->outputs.first(op->outputs.size() - op->optional_outputs))
    names += (names.empty() ? "" : ", ") + std::string(name);
  for (const std::size_t asked : task.asked) names += ", " + output_name(op, asked);
  return names;
}

[[noreturn]] void refuse_parameter(const char* name, const std::string& need, double got) {
  throw std::invalid_argument(fmt::format("{}: need {}, got {}", name, need, got));
}

// Checks a parameter: within its range for ops that have it, off for all others.
void require_within(const char* name, Op op, bool of_op, double value, bool is_right, const std::string& range) {
  if (of_op ? is_right : value == 0) return;
  refuse_parameter(name, of_op ? range : "0, as " + std::string(to_string(op)) + " has none", value);
}

void require_attributes(const TensorTask& task) {
  const Attributes& a = task.attributes;
  const Op op = task.op;
  const bool has_terms = !op->is_linear();
  const bool labels = has_terms && has_labels(op), loss = has_terms && is_loss(op);
  const bool chooses = !op->elements.empty(), scores = op->attributes;
  const auto within = [&](const char* name, bool of_op, double value, bool is_right, const std::string& range) {
    require_within(name, op, of_op, value, is_right, range);
  };
  within("label_smoothing", labels, a.label_smoothing, a.label_smoothing >= 0 && a.label_smoothing <= 1,
         "a number in [0, 1]");
  within("z_loss", loss, a.z_loss, a.z_loss >= 0 && std::isfinite(a.z_loss), "a finite number >= 0");
  within("mean", op->of_whole_calls, a.mean ? 1 : 0, true, "");
  const bool weighted_z = op->of_whole_calls && input_of(task, Role::class_weights) != nullptr && a.z_loss != 0;
  if (weighted_z) refuse_parameter("z_loss", "0 beside class_weights, whose mean no two libraries agree on", a.z_loss);
  within("reverse", is_divergence(op), a.reverse ? 1 : 0, true, "");
  within("lse_base2", merges_states(op), a.lse_base2 ? 1 : 0, true, "");
  within("renormalize", chooses || op->filters, a.renormalize ? 1 : 0, true, "");
  const GivenTensor* const row = chooses ? input_of(task, op->inputs[0].role) : nullptr;
  const std::int64_t items = row == nullptr || row->shape.empty() ? 0 : row->shape.back();
  const std::int64_t least = std::min<std::int64_t>(items, 1);
  if (op->filters) {
    within("k", true, a.k, a.k >= 0, "a number of items, or 0 for none");
  } else {
    within("k", chooses, a.k, a.k >= least && a.k <= items,
           "a number of items from " + std::to_string(least) + " to " + std::to_string(items));
  }
  within("sigmoid", chooses, a.sigmoid ? 1 : 0, true, "");
  within("groups", chooses, a.groups, a.groups == 0 || (a.groups > 0 && items % a.groups == 0),
         "a divisor of " + std::to_string(items) + " items, or 0 for none");
  const std::int64_t size = a.groups > 0 ? items / a.groups : 0;
  const auto of_groups = [&](const char* name, double value, bool is_right, const std::string& range) {
    const bool grouped = a.groups != 0;
    within(name, chooses, value, grouped ? is_right : value == 0, grouped ? range : "0 without groups");
  };
  of_groups("groups_kept", a.groups_kept, a.groups_kept > 0 && a.groups_kept <= a.groups && a.groups_kept * size >= a.k,
            "a number of groups that have k items together");
  of_groups("group_items", a.group_items, a.group_items == 1 || (a.group_items == 2 && size >= 2),
            "1, or 2 for groups of two items or more");
  within("routed_scale", chooses, a.routed_scale, a.routed_scale >= 0 && std::isfinite(a.routed_scale),
         "a finite number > 0, or 0 for none");
  const auto share = [&](const char* name, double value) {
    within(name, op->filters, value, value >= 0 && value <= 1, "a number in (0, 1], or 0 for none");
  };
  share("top_p", a.top_p);
  share("min_p", a.min_p);
  if (loss && task.theta != 1 && a.softcap != 0) refuse_parameter("softcap", "0 beside a theta", a.softcap);
  within("softcap", loss || scores, a.softcap, a.softcap >= 0 && std::isfinite(a.softcap), "a finite number >= 0");
  const auto window = [&](const char* name, std::int64_t plus_1) {
    within(name, scores, static_cast<double>(plus_1), plus_1 >= 0, "a number of keys, or 0 for all");
  };
  window("window_left_plus_1", a.window_left_plus_1);
  window("window_right_plus_1", a.window_right_plus_1);
  const bool drops = input_of(task, Role::dropout) != nullptr;
  within("dropout_scale", scores && drops, a.dropout_scale, a.dropout_scale > 0 && std::isfinite(a.dropout_scale),
         "a finite number > 0 beside a dropout");
  within("causal_top_left", scores, a.causal_top_left ? 1 : 0, true, "");
  const double sigmoid_bias = a.sigmoid_bias.value_or(0);
  within("sigmoid_bias", op->sigmoid, sigmoid_bias, std::isfinite(sigmoid_bias), "a finite number");
}

}  // namespace

bool has_parts(Op op) { return !op->extents.empty(); }

bool is_attention_gradient(Op op) { return op->is_attention() && has_parts(op) && !op->is_linear(); }

// The first input, unless its rows may be wider than the format.
Role role_of_format(Op op) { return op->is_of_states() ? op->inputs[1].role : op->inputs[0].role; }

bool is_wide(Op op, Role role) {
  if (op->is_of_states()) return role == op->inputs[0].role;
  if (!op->is_attention()) return definition_of(op, role) != nullptr && definition_of(op, role)->is_wide;
  return role == Role::lse || role == Role::lse_gradient || role == Role::sinks || role == Role::slopes ||
         role == Role::lambda;
}

bool merges_states(Op op) { return !op->is_attention() && op->inputs[0].role == Role::lse; }

bool is_optional(Op op, Role role) {
  if (is_attention_gradient(op)) return role == Role::out || role == Role::lse;
  const OpInput* const definition = definition_of(op, role);
  return definition != nullptr && definition->optional;
}

std::vector<Role> roles_of(const TensorTask& task) {
  if (!task.roles.empty()) return task.roles;
  std::vector<Role> roles = own_roles(task.op);
  // First without the optional inputs, then with or without a mask.
  if (task.inputs.size() < roles.size()) roles = needed_roles(task.op);
  if (task.inputs.size() == roles.size() + 1 && task.op->takes_mask) roles.push_back(Role::mask);
  return roles;
}

const GivenTensor* input_of(const TensorTask& task, Role role) {
  const std::vector<Role> roles = roles_of(task);
  const auto place = static_cast<std::size_t>(std::ranges::find(roles, role) - roles.begin());
  return place < roles.size() && place < task.inputs.size() ? &task.inputs[place] : nullptr;
}

const GivenTensor& own_input(const TensorTask& task, std::size_t k) { return *input_of(task, task.op->inputs[k].role); }

std::string input_name(const TensorTask& task, std::size_t k) {
  const std::vector<Role> roles = roles_of(task);
  return k < roles.size() ? std::string(to_string(roles[k])) : "input";
}

std::string output_name(Op op, std::size_t k) { return std::string(op->outputs[std::min(k, op->outputs.size() - 1)]); }

std::size_t number_of_output(const TensorTask& task, std::size_t k) {
  const std::size_t always = task.op->outputs.size() - task.op->optional_outputs;
  return k < always ? k : task.asked.at(k - always);
}

void require_output_number(const TensorTask& task, std::size_t which) {
  const std::size_t all = task.op->outputs.size(), always = all - task.op->optional_outputs;
  if (which >= all) {
    throw std::invalid_argument("which: need an output from 0 to " + std::to_string(all - 1) + ", got " +
                                std::to_string(which));
  }
  if (which < always || input_of(task, task.op->optional_output_inputs[which - always]) != nullptr) return;
  const std::string input(to_string(task.op->optional_output_inputs[which - always]));
  throw std::invalid_argument(output_name(task.op, which) + ": need " + input + " among the inputs, got none");
}

bool has_mask(const TensorTask& task) { return input_of(task, Role::mask) != nullptr; }

numerics::Format input_format(const TensorTask& task) {
  const Role role = role_of_format(task.op);
  const std::string name(to_string(role));
  const GivenTensor* const tensor = input_of(task, role);
  if (tensor == nullptr) throw std::invalid_argument("inputs: need " + name + ", got no tensor");
  if (!tensor->format) refuse_dtype(*tensor, name);
  return *tensor->format;
}

void require_numbers(const GivenTensor& tensor, const std::string& name) {
  if (!tensor.format) refuse_dtype(tensor, name);
  require_memory(tensor, name);
}

void require_task(const TensorTask& task) {
  require_roles(task);
  const numerics::Format format = input_format(task);
  const std::vector<Role> roles = roles_of(task);
  for (std::size_t k = 0; k < roles.size(); ++k) require_input(task, roles[k], task.inputs[k], format);
  require_parameters(task);
}

void require_formats(const TensorTask& task, const numerics::Contract& contract, std::span<const GivenTensor> outputs) {
  for (const std::size_t asked : task.asked) require_output_number(task, asked);
  const std::size_t most = task.op->outputs.size() - task.op->optional_outputs + task.asked.size(),
                    least = has_parts(task.op) ? most : 1;
  if (outputs.size() < least || outputs.size() > most) {
    throw std::invalid_argument("outputs: need " + outputs_needed(task) + ", got " + std::to_string(outputs.size()) +
                                " tensors");
  }
  const Role first = role_of_format(task.op);
  require_same_format(*input_of(task, first), std::string(to_string(first)), contract.input, "the contract has it");
  require_numbers(outputs[0], output_name(task.op, 0));
  require_same_format(outputs[0], output_name(task.op, 0), contract.output, "the contract has it");
  for (std::size_t k = 1; k < outputs.size(); ++k) {
    if (has_parts(task.op)) {
      require_auxiliary(task, contract, outputs[k], k);
    } else {
      require_numbers(outputs[k], output_name(task.op, k));
    }
  }
  if (!has_parts(task.op) && outputs.size() == 3) {
    require_same_format(outputs[2], "entropy", *outputs[1].format, "lse has it");
  }
}

void require_parameters(const TensorTask& task) {
  const std::string op(to_string(task.op));
  const bool has_theta = task.op->has_theta || task.op->optional_theta;
  if (!has_theta && task.theta != 1) refuse_parameter("theta", "1, as " + op + " has no temperature", task.theta);
  // The judge's own arithmetic needs this range (numerics/filter/row_filter.hpp).
  if (!(task.theta >= 0x1p-1000 && task.theta <= 0x1p1000)) {
    refuse_parameter("theta", "a temperature in [2^-1000, 2^1000]", task.theta);
  }
  const bool scores = task.op->is_attention() && !task.op->is_linear();
  if (!scores && task.scale != 1) refuse_parameter("scale", "1, as " + op + " has none", task.scale);
  if (!std::isfinite(task.scale)) refuse_parameter("scale", "a finite number", task.scale);
  if (!scores && task.causal) throw std::invalid_argument("causal: need false, as " + op + " has none");
  require_attributes(task);
}

}  // namespace softcheck::proptests
