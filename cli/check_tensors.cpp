#include "cli/check_tensors.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <string_view>
#include <tuple>
#include <utility>

#include "cli/dtype.hpp"
#include "cli/exit_code.hpp"
#include "judge/op/op.hpp"
#include "judge/ops/rows/row_call.hpp"
#include "judge/results/given_tensor.hpp"
#include "judge/results/task_checks.hpp"

namespace softcheck::cli {

using namespace proptests;

namespace {

// A flag that names a file, and whether the op has it.
struct FileFlag {
  const char* name;
  const std::string& place;
  bool of_op;
  bool is_needed;
  std::optional<Role> role = {};  // of an input; nothing: an output
};

const OpInput* input_of(Op op, Role role) {
  const auto found = std::ranges::find(op->inputs, role, &OpInput::role);
  return found == op->inputs.end() ? nullptr : &*found;
}

std::optional<std::size_t> output_number(Op op, std::string_view name) {
  const auto found = std::ranges::find(op->outputs, name);
  if (found == op->outputs.end()) return std::nullopt;
  return static_cast<std::size_t>(found - op->outputs.begin());
}

// The files in the ABI's order: inputs, mask and what attention has behind it, outputs.
std::vector<FileFlag> file_flags(const CheckFlags& flags, Op op) {
  const auto input = [&](const char* name, const std::string& place, Role role) {
    const OpInput* const found = input_of(op, role);
    return FileFlag{name, place, found != nullptr, found != nullptr && !is_optional(op, role), role};
  };
  const auto term = [&](const char* name, const std::string& place, Role role) {
    return FileFlag{name, place, op->attributes, false, role};
  };
  const auto part = [&](const char* name, const std::string& place) {
    const bool of_op = has_parts(op) && output_number(op, name).has_value();
    return FileFlag{name, place, of_op, of_op && *output_number(op, name) < op->outputs.size() - op->asked_outputs};
  };
  const bool merges = merges_states(op), whole = merges || !has_parts(op), returns_lse = op->attention && whole;
  std::vector<FileFlag> all{input("logits", flags.logits, Role::logits),
                            input("saved", flags.saved, Role::saved),
                            input("labels", flags.labels, Role::labels),
                            input("upstream", flags.upstream, Role::upstream),
                            input("class-weights", flags.class_weights, Role::class_weights),
                            input("query", flags.query, Role::query),
                            input("key", flags.key, Role::key),
                            input("value", flags.value, Role::value),
                            input("out", flags.out, Role::out)};
  if (!returns_lse) all.push_back(input("lse", flags.lse, Role::lse));
  all.push_back(input("out-gradient", flags.out_gradient, Role::out_gradient));
  all.push_back({"lse-gradient", flags.lse_gradient, is_attention_gradient(op), false, Role::lse_gradient});
  all.push_back({"mask", flags.mask, op->takes_mask, false, Role::mask});
  all.push_back(term("sinks", flags.sinks, Role::sinks));
  all.push_back(term("slopes", flags.slopes, Role::slopes));
  all.push_back(term("bias", flags.bias, Role::bias));
  all.push_back({"output", flags.output, whole, whole});
  all.push_back({"output-lse", flags.output_lse, merges, merges});
  if (returns_lse) all.push_back({"lse", flags.lse, true, false});
  all.push_back({"entropy", flags.entropy, returns_lse, false});
  for (const auto& [name, place] : {std::pair<const char*, const std::string&>{"weights", flags.weights},
                                    {"ids", flags.ids},
                                    {"dq", flags.dq},
                                    {"dk", flags.dk},
                                    {"dv", flags.dv},
                                    {"dsinks", flags.dsinks},
                                    {"dbias", flags.dbias}}) {
    all.push_back(part(name, place));
  }
  return all;
}

// A flag that gives a number or a choice.
struct ParameterFlag {
  const char* name;
  bool is_given, of_op;
};

std::vector<ParameterFlag> parameter_flags(const CheckFlags& flags, Op op) {
  const bool labels = has_labels(op), chooses = !op->elements.empty(), scores = op->attributes;
  return {{"theta", flags.theta.has_value(), op->has_theta},
          {"scale", flags.scale.has_value(), op->attention},
          {"causal", flags.causal, op->attention},
          {"label-smoothing", flags.label_smoothing.has_value(), labels},
          {"z-loss", flags.z_loss.has_value(), labels},
          {"ignore-index", flags.ignore_index.has_value(), labels},
          {"top-k", flags.top_k.has_value(), chooses},
          {"renormalize", flags.renormalize, chooses},
          {"base-2", flags.base_2, merges_states(op)},
          {"reduction", !flags.reduction.empty(), op->of_whole_calls},
          {"top-p", flags.top_p.has_value(), op->filters},
          {"min-p", flags.min_p.has_value(), op->filters},
          {"window", !flags.window.empty(), scores},
          {"softcap", flags.softcap.has_value(), labels || scores},
          {"top-left", flags.top_left, scores}};
}

void require_parameter_flags(const CheckFlags& flags, Op op) {
  for (const ParameterFlag& flag : parameter_flags(flags, op)) {
    if (flag.is_given && !flag.of_op) {
      throw InputError(usage, fmt::format("--{}: --op {} has none", flag.name, to_string(op)));
    }
  }
}

void require_flags(const CheckFlags& flags, Op op) {
  const std::vector<FileFlag> files = file_flags(flags, op);
  // First of all a flag of another op: "--out: --op attention has none" says why --output is missing.
  for (const FileFlag& flag : files) {
    if (!flag.of_op && !flag.place.empty()) {
      throw InputError(
          usage, fmt::format("--{}: --op {} has none; it needs {}", flag.name, to_string(op), needed_flags(flags, op)));
    }
  }
  for (const FileFlag& flag : files) {
    if (flag.is_needed && flag.place.empty()) {
      throw InputError(usage, fmt::format("check: --op {} needs {}", to_string(op), needed_flags(flags, op)));
    }
  }
  if (!flags.entropy.empty() && flags.lse.empty()) {
    throw InputError(usage, "--entropy: need --lse beside it, as the ABI's attention has them in this order");
  }
  if (is_attention_gradient(op) && flags.out.empty() != flags.lse.empty()) {
    throw InputError(usage, "check: need --out and --lse, what the forward pass returned, or neither, got one of them");
  }
  if (!flags.dsinks.empty() && flags.sinks.empty()) {
    throw InputError(usage, "--dsinks: need --sinks, which it is the gradient by");
  }
  if (!flags.dbias.empty() && flags.bias.empty()) {
    throw InputError(usage, "--dbias: need --bias, which it is the gradient by");
  }
  require_parameter_flags(flags, op);
}

// LEFT:RIGHT as the ABI has them: 1 more than the keys, 0 for all.
std::pair<std::int64_t, std::int64_t> window_of(const std::string& text) {
  const auto side = [&](const std::string& word) -> std::int64_t {
    if (word == "all") return 0;
    const bool digits = !word.empty() && word.size() < 18 && word.find_first_not_of("0123456789") == std::string::npos;
    if (digits) return std::stoll(word) + 1;
    throw InputError(
        usage, fmt::format("--window: need LEFT:RIGHT, each a number of keys or 'all', as 127:0, got '{}'", text));
  };
  const std::size_t colon = text.find(':');
  if (colon == std::string::npos) return {side(""), 0};
  return {side(text.substr(0, colon)), side(text.substr(colon + 1))};
}

Attributes attributes_of(const CheckFlags& flags, const TensorTask& task, const std::vector<GivenTensor>& outputs) {
  Attributes attributes;
  attributes.label_smoothing = flags.label_smoothing.value_or(0);
  attributes.z_loss = flags.z_loss.value_or(0);
  attributes.ignore_index = flags.ignore_index.value_or(usual_ignore_index);
  attributes.lse_base2 = flags.base_2;
  attributes.renormalize = flags.renormalize;
  attributes.mean = task.op->of_whole_calls && flags.reduction != "sum";
  attributes.softcap = flags.softcap.value_or(0);
  attributes.top_p = flags.top_p.value_or(0);
  attributes.min_p = flags.min_p.value_or(0);
  attributes.causal_top_left = flags.top_left;
  if (!flags.window.empty()) {
    std::tie(attributes.window_left_plus_1, attributes.window_right_plus_1) = window_of(flags.window);
  }
  if (task.op->elements.empty()) return attributes;
  // So many as were written.
  const Shape& ids = outputs.back().shape;
  const std::int64_t k = flags.top_k.value_or(ids.empty() ? 0 : ids.back());
  attributes.k = static_cast<std::int32_t>(std::min<std::int64_t>(k, std::numeric_limits<std::int32_t>::max()));
  return attributes;
}

FileTensor read_one(const FileFlag& flag, std::optional<numerics::Format> voids) {
  try {
    return read_tensor(flag.place, voids);
  } catch (const models::UnsupportedTensorFile& error) {
    throw InputError(unsupported, fmt::format("--{}: {}", flag.name, error.what()));
  } catch (const models::TensorFileError& error) {
    throw InputError(malformed, fmt::format("--{}: {}", flag.name, error.what()));
  }
}

void require_dtype(const FileFlag& flag, const FileTensor& file, Op op, std::optional<numerics::Format> dtype) {
  if (!dtype || !flag.role || flag.role == Role::mask || is_wide(op, *flag.role)) return;
  if (file.tensor.integer_bits != 0 || file.tensor.format == dtype) return;
  throw InputError(malformed,
                   fmt::format("--{}: {}: need {} as --dtype says, got {}", flag.name, file.place(),
                               numerics::properties(*dtype).name,
                               file.tensor.format ? numerics::properties(*file.tensor.format).name : file.dtype));
}

// Attention's scale without --scale: 1 / sqrt(dim) in double, as torch computes it.
double usual_scale(const GivenTensor& query) {
  const std::int64_t dim = query.shape.empty() ? 0 : query.shape.back();
  return dim > 0 ? 1 / std::sqrt(static_cast<double>(dim)) : 1;
}

numerics::Contract contract_of_files(const CheckFlags& flags, const CheckedTensors& tensors) {
  try {
    return contract_for(tensors.task, flags.contract, tensors.outputs[0].format);
  } catch (const numerics::ContractError& error) {
    throw InputError(usage, fmt::format("--contract: {}", error.problem));
  } catch (const std::invalid_argument& error) {
    throw InputError(malformed, fmt::format("check: {}", error.what()));
  }
}

}  // namespace

std::string needed_flags(const CheckFlags& flags, Op op) {
  std::vector<std::string> names;
  for (const FileFlag& flag : file_flags(flags, op)) {
    if (flag.is_needed) names.push_back(std::string("--") + flag.name);
  }
  const std::string last = std::exchange(names.back(), "");
  names.pop_back();
  return fmt::format("{} and {}", fmt::join(names, ", "), last);
}

std::string flags_of_op(const CheckFlags& flags, Op op) {
  std::vector<std::string> names;
  const auto add = [&names](const auto& flag) {
    if (flag.of_op) names.push_back(std::string("--") + flag.name);
  };
  std::ranges::for_each(file_flags(flags, op), add);
  std::ranges::for_each(parameter_flags(flags, op), add);
  return fmt::format("{}", fmt::join(names, ", "));
}

std::vector<ReportedTensor> CheckedTensors::reported() const {
  std::vector<ReportedTensor> result;
  for (std::size_t i = 0; i < files.size(); ++i) result.push_back({roles[i], files[i].place(), &files[i].tensor});
  return result;
}

CheckedTensors read_tensors(const CheckFlags& flags) {
  const Op op = parse_op(flags.op);
  require_flags(flags, op);
  const std::optional<numerics::Format> dtype =
      flags.dtype.empty() ? std::nullopt : std::optional(dtype_of("--dtype", flags.dtype));
  CheckedTensors result;
  result.task.op = op;
  for (const FileFlag& flag : file_flags(flags, op)) {
    if (flag.place.empty()) continue;
    FileTensor file = read_one(flag, dtype);
    require_dtype(flag, file, op, dtype);
    (flag.role ? result.task.inputs : result.outputs).push_back(file.tensor);
    if (!flag.role && has_parts(op) && !flag.is_needed) result.task.asked.push_back(*output_number(op, flag.name));
    if (flag.role && op->attributes) result.task.roles.push_back(*flag.role);
    result.roles.emplace_back(flag.name);
    result.files.push_back(std::move(file));
  }
  result.task.theta = flags.theta.value_or(1);
  result.task.scale = flags.scale.value_or(op->attention ? usual_scale(result.task.inputs[0]) : 1);
  result.task.causal = flags.causal;
  result.task.attributes = attributes_of(flags, result.task, result.outputs);
  result.contract = contract_of_files(flags, result);
  return result;
}

}  // namespace softcheck::cli
