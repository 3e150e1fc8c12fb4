#include "cli/check_tensors.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <utility>

#include "cli/dtype.hpp"
#include "cli/exit_code.hpp"
#include "proptests/judge/op.hpp"
#include "proptests/judge/row_call.hpp"

namespace softcheck::cli {

using namespace proptests;

namespace {

// A flag that names a file, and whether the op has it.
struct FileFlag {
  const char* role;
  const std::string& place;
  bool of_op;
  bool is_needed;
};

const OpInput* input_of(Op op, Role role) {
  const auto found = std::ranges::find(op->inputs, role, &OpInput::role);
  return found == op->inputs.end() ? nullptr : &*found;
}

// The files in the ABI's order: inputs, mask, outputs.
std::vector<FileFlag> file_flags(const CheckFlags& flags, Op op) {
  const auto input = [&](const char* name, const std::string& place, Role role) {
    const OpInput* const found = input_of(op, role);
    return FileFlag{name, place, found != nullptr, found != nullptr && !found->optional};
  };
  const bool attention = op->attention;
  return {input("logits", flags.logits, Role::logits),
          input("saved", flags.saved, Role::saved),
          input("out-gradient", flags.out_gradient, Role::out_gradient),
          input("labels", flags.labels, Role::labels),
          input("upstream", flags.upstream, Role::upstream),
          input("class-weights", flags.class_weights, Role::class_weights),
          input("query", flags.query, Role::query),
          input("key", flags.key, Role::key),
          input("value", flags.value, Role::value),
          {"mask", flags.mask, op->takes_mask, false},
          {"output", flags.output, true, true},
          {"lse", flags.lse, attention, false},
          {"entropy", flags.entropy, attention, false}};
}

// "--logits and --output"
std::string needed_flags(const CheckFlags& flags, Op op) {
  std::vector<std::string> names;
  for (const FileFlag& flag : file_flags(flags, op)) {
    if (flag.is_needed) names.push_back(std::string("--") + flag.role);
  }
  const std::string last = std::exchange(names.back(), "");
  names.pop_back();
  return fmt::format("{} and {}", fmt::join(names, ", "), last);
}

void require_flags(const CheckFlags& flags, Op op) {
  if (!op->at_hand) {
    throw InputError(usage, fmt::format("--op: need one whose results can be judged at hand, got {}: judge the kernel "
                                        "itself",
                                        to_string(op)));
  }
  if (!op->extents.empty()) {
    throw InputError(usage,
                     fmt::format("--op: need one with a single output for each row, got {}: judge the kernel itself",
                                 to_string(op)));
  }
  for (const FileFlag& flag : file_flags(flags, op)) {
    if (flag.is_needed && flag.place.empty()) {
      throw InputError(usage, fmt::format("check: --op {} needs {}", to_string(op), needed_flags(flags, op)));
    }
    if (!flag.of_op && !flag.place.empty()) {
      throw InputError(usage, fmt::format("--{}: --op {} has none", flag.role, to_string(op)));
    }
  }
  if (!flags.entropy.empty() && flags.lse.empty()) {
    throw InputError(usage, "--entropy: need --lse beside it, as the ABI's attention has them in this order");
  }
  if (flags.theta && !op->has_theta) throw InputError(usage, fmt::format("--theta: --op {} has none", to_string(op)));
  if (!op->attention && flags.scale) throw InputError(usage, fmt::format("--scale: --op {} has none", to_string(op)));
  if (!op->attention && flags.causal) {
    throw InputError(usage, fmt::format("--causal: --op {} has none", to_string(op)));
  }
  for (const auto& [name, is_given] :
       {std::pair("label-smoothing", flags.label_smoothing.has_value()), std::pair("z-loss", flags.z_loss.has_value()),
        std::pair("softcap", flags.softcap.has_value()), std::pair("ignore-index", flags.ignore_index.has_value())}) {
    if (is_given && !has_labels(op))
      throw InputError(usage, fmt::format("--{}: --op {} has none", name, to_string(op)));
  }
}

FileTensor read_one(const FileFlag& flag, std::optional<numerics::Format> two_byte_voids) {
  try {
    return read_tensor(flag.place, two_byte_voids);
  } catch (const models::MissingTensorFile& error) {
    throw InputError(usage, fmt::format("--{}: {}", flag.role, error.what()));
  } catch (const models::UnsupportedTensorFile& error) {
    throw InputError(unsupported, fmt::format("--{}: {}", flag.role, error.what()));
  } catch (const models::TensorFileError& error) {
    throw InputError(malformed, fmt::format("--{}: {}", flag.role, error.what()));
  }
}

void require_dtype(const FileFlag& flag, const FileTensor& file, std::optional<numerics::Format> dtype) {
  const bool is_input = flag.role != std::string_view("mask") && flag.role != std::string_view("output") &&
                        flag.role != std::string_view("lse") && flag.role != std::string_view("entropy") &&
                        flag.role != std::string_view("class-weights");
  if (!dtype || !is_input || file.tensor.integer_bits != 0 || file.tensor.format == dtype) return;
  throw InputError(malformed,
                   fmt::format("--{}: {}: need {} as --dtype says, got {}", flag.role, file.place(),
                               numerics::properties(*dtype).name,
                               file.tensor.format ? numerics::properties(*file.tensor.format).name : file.dtype));
}

// Attention's scale without --scale: 1 / sqrt(dim) in double, as torch computes it.
double usual_scale(const HeldTensor& query) {
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
    FileTensor file = read_one(flag, dtype == numerics::Format::bf16 ? dtype : std::nullopt);
    require_dtype(flag, file, dtype);
    const bool is_output = &flag.place == &flags.output || &flag.place == &flags.lse || &flag.place == &flags.entropy;
    (is_output ? result.outputs : result.task.inputs).push_back(file.tensor);
    result.roles.emplace_back(flag.role);
    result.files.push_back(std::move(file));
  }
  result.task.theta = flags.theta.value_or(1);
  result.task.scale = flags.scale.value_or(op->attention ? usual_scale(result.task.inputs[0]) : 1);
  result.task.causal = flags.causal;
  result.task.attributes.label_smoothing = flags.label_smoothing.value_or(0);
  result.task.attributes.z_loss = flags.z_loss.value_or(0);
  result.task.attributes.softcap = flags.softcap.value_or(0);
  result.task.attributes.ignore_index = flags.ignore_index.value_or(usual_ignore_index);
  result.contract = contract_of_files(flags, result);
  return result;
}

}  // namespace softcheck::cli
