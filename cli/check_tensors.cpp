#include "cli/check_tensors.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <string_view>
#include <tuple>
#include <utility>

#include "cli/exit_code.hpp"
#include "cli/flag_words.hpp"
#include "judge/op/op.hpp"
#include "judge/ops/rows/row_call.hpp"
#include "judge/results/given_tensor.hpp"
#include "judge/results/task_checks.hpp"

namespace softcheck::cli {

using namespace proptests;

namespace {

struct FileFlag {
  std::string_view names;
  std::optional<Role> role;  // of an input; nothing: an output
  const char* text;

  /// "out-gradient" of "--out-gradient,--dout"
  std::string_view name() const { return names.substr(2, names.find(',') - 2); }
};

// In the order of the help. For attention, --lse is an output.
constexpr FileFlag file_flags[] = {
    {"--logits", Role::logits, "Rows of logits (..., n): .npy, .npz:name or .safetensors:name"},
    {"--saved", Role::saved, "Gradients of rows: the forward pass's output (..., n)"},
    {"--out-gradient,--dout", Role::out_gradient, "Gradients: the loss's gradient by that output, of its shape"},
    {"--lse-gradient,--dlse", Role::lse_gradient,
     "attention_backward: the loss's gradient by the log-sum-exp of each query (...), if it has one"},
    {"--labels", Role::labels, "Losses: the class of each row (...), int32 or int64"},
    {"--upstream", Role::upstream, "cross_entropy_backward: the gradient by the loss of each row (...)"},
    {"--class-weights", Role::class_weights, "Losses: a weight of each class (n), of the logits' dtype or a wider one"},
    {"--query,--q", Role::query, "Attention: (..., queries, dim), as (batch, heads, queries, dim) from the right"},
    {"--key,--k", Role::key, "Attention: (..., keys, dim)"},
    {"--value,--v", Role::value, "Attention: (..., keys, value dim)"},
    {"--query2", Role::second_query, "differential_attention: the second map's, of the query's shape"},
    {"--key2", Role::second_key, "differential_attention: of the key's shape"},
    {"--lambdas", Role::lambda, "differential_attention: the factor of the second map, one a head"},
    {"--out", Role::out,
     "attention_backward: the forward pass's output, if the kernel read it; merge_states: the parts' outputs (parts, "
     "..., dim)"},
    {"--mask", Role::mask, "Bytes or booleans, nonzero = visible, broadcast as NumPy does"},
    {"--sinks", Role::sinks, "Attention and its gradient: one logit a head"},
    {"--slopes", Role::slopes, "Attention and its gradient: ALiBi's, one a head"},
    {"--bias", Role::bias,
     "Attention and its gradient: added to the scores, broadcast as NumPy does; topk_softmax: to p for the choice (n)"},
    {"--dropout", Role::dropout,
     "Attention: bytes or booleans, nonzero where a weight is kept, broadcast as NumPy does"},
    {"--targets", Role::targets, "soft_cross_entropy: a probability of each class (..., n)"},
    {"--row-top-k", Role::k, "top_p_softmax: k of each row (...), int32 or int64"},
    {"--row-top-p", Role::top_p, "top_p_softmax: top_p of each row (...), of f32, or f64 for logits of f64"},
    {"--row-min-p", Role::min_p, "top_p_softmax: min_p of each row (...)"},
    {"--row-theta", Role::temperature, "top_p_softmax: the temperature of each row (...)"},
    {"--teacher", Role::teacher, "kl_divergence: the logits of the other distribution (..., n)"},
    {"--hidden", Role::hidden, "linear_cross_entropy: the hidden states (..., dim)"},
    {"--weight", Role::weight, "linear_cross_entropy: the classes' weights (classes, dim)"},
    {"--output", {}, "The results: of the logits' shape, a value a row (...) or (..., 1), or attention's"},
    {"--lse", Role::lse,
     "Attention's log-sum-exp of each query, of its gradient beside --out; merge_states: the parts' (parts, ...)"},
    {"--output-lse", {}, "merge_states: the merged log-sum-exps (...)"},
    {"--weights", {}, "topk_softmax: the results (..., k)"},
    {"--ids", {}, "topk_softmax: the items that have them (..., k), int32 or int64"},
    {"--dq", {}, "attention_backward: the results, of the query's shape"},
    {"--dk", {}, "attention_backward: of the key's"},
    {"--dv", {}, "attention_backward: of the value's"},
    {"--dhidden", {}, "linear_cross_entropy_backward: the results, of the hidden states' shape"},
    {"--dweight", {}, "linear_cross_entropy_backward: of the weights'"},
    {"--dsinks", {}, "attention_backward: the gradient by --sinks (heads), where the kernel returned it"},
    {"--dbias", {}, "attention_backward: that by --bias, of the bias's own shape"},
    {"--entropy", {}, "Attention's entropy of each query; needs --lse"},
};

// A file of an op.
struct OpFile {
  std::string_view name;
  bool is_needed;
  std::optional<Role> role = {};  // of an input; nothing: an output
};

bool has_scores(Op op) { return op->is_attention() && !op->is_linear(); }

// In the ABI's order: inputs, the mask and attention's inputs after it, outputs.
std::vector<OpFile> files_of(Op op) {
  std::vector<OpFile> files;
  const auto input = [&](Role role, bool is_needed) {
    files.push_back({std::ranges::find(file_flags, role, &FileFlag::role)->name(), is_needed, role});
  };
  for (const OpInput& own : op->inputs) input(own.role, !is_optional(op, own.role));
  if (op->is_of_states()) std::rotate(files.begin(), files.begin() + 1, files.end());
  if (is_attention_gradient(op)) input(Role::lse_gradient, false);
  if (op->takes_mask) input(Role::mask, false);
  if (op->attributes) {
    for (const Role role : {Role::sinks, Role::slopes, Role::bias}) input(role, false);
    if (!is_attention_gradient(op) && op->may_drop()) input(Role::dropout, false);
  }
  if (merges_states(op)) {
    files.insert(files.end(), {{"output", true}, {"output-lse", true}});
  } else if (has_parts(op)) {
    const std::size_t needed = op->outputs.size() - op->optional_outputs;
    for (std::size_t i = 0; i < op->outputs.size(); ++i) files.push_back({op->outputs[i], i < needed});
  } else {
    files.push_back({"output", true});
    if (op->outputs.size() > 1) files.insert(files.end(), {{"lse", false}, {"entropy", false}});
  }
  return files;
}

// A flag with a number or a choice.
struct ParameterFlag {
  const char* name;
  bool is_given, of_op;
};

std::vector<ParameterFlag> parameter_flags(const CheckFlags& flags, Op op) {
  const bool has_terms = !op->is_linear();
  const bool labels = has_terms && has_labels(op), loss = has_terms && is_loss(op);
  const bool chooses = !op->elements.empty(), scores = op->attributes;
  return {{"theta", flags.theta.has_value(), op->has_theta || op->optional_theta},
          {"scale", flags.scale.has_value(), has_scores(op)},
          {"causal", flags.causal, has_scores(op)},
          {"label-smoothing", flags.label_smoothing.has_value(), labels},
          {"z-loss", flags.z_loss.has_value(), loss},
          {"ignore-index", flags.ignore_index.has_value(), labels || op->is_linear()},
          {"top-k", flags.top_k.has_value(), chooses || op->filters},
          {"renormalize", flags.renormalize, chooses || op->filters},
          {"base-2", flags.base_2, merges_states(op)},
          {"reduction", !flags.reduction.empty(), op->of_whole_calls},
          {"top-p", flags.top_p.has_value(), op->filters},
          {"min-p", flags.min_p.has_value(), op->filters},
          {"reverse", flags.reverse, is_divergence(op)},
          {"sigmoid", flags.sigmoid, chooses},
          {"groups", flags.groups.has_value(), chooses},
          {"groups-kept", flags.groups_kept.has_value(), chooses},
          {"group-items", flags.group_items.has_value(), chooses},
          {"routed-scale", flags.routed_scale.has_value(), chooses},
          {"window", !flags.window.empty(), scores},
          {"softcap", flags.softcap.has_value(), loss || scores},
          {"dropout-scale", flags.dropout_scale.has_value(), !is_attention_gradient(op) && op->may_drop()},
          {"top-left", flags.top_left, scores},
          {"sigmoid-bias", flags.sigmoid_bias.has_value(), op->sigmoid}};
}

void require_parameter_flags(const CheckFlags& flags, Op op) {
  for (const ParameterFlag& flag : parameter_flags(flags, op)) {
    if (flag.is_given && !flag.of_op) {
      throw InputError(usage, fmt::format("--{}: --op {} has none", flag.name, to_string(op)));
    }
  }
}

void require_flags(const CheckFlags& flags, Op op) {
  const std::vector<OpFile> files = files_of(op);
  const auto is_given = [&](std::string_view name) { return !flags.files.find(name)->second.empty(); };
  // Reports a flag of another op first: "--out: --op attention has none" explains why --output is missing.
  for (const auto& [name, place] : flags.files) {
    if (!place.empty() && std::ranges::find(files, name, &OpFile::name) == files.end()) {
      throw InputError(usage,
                       fmt::format("--{}: --op {} has none; it needs {}", name, to_string(op), needed_flags(op)));
    }
  }
  if (!std::ranges::all_of(files, [&](const OpFile& file) { return !file.is_needed || is_given(file.name); })) {
    throw InputError(usage, fmt::format("check: --op {} needs {}", to_string(op), needed_flags(op)));
  }
  if (is_given("entropy") && !is_given("lse")) {
    throw InputError(usage, "--entropy: need --lse beside it, as the ABI's attention has them in this order");
  }
  if (flags.dropout_scale && !is_given("dropout")) {
    throw InputError(usage, "--dropout-scale: need --dropout too, the mask of the kept weights");
  }
  if (is_attention_gradient(op) && is_given("out") != is_given("lse")) {
    throw InputError(usage, "check: need --out and --lse, what the forward pass returned, or neither, got one of them");
  }
  for (const char* name : {"sinks", "bias"}) {
    if (is_given(std::string("d") + name) && !is_given(name)) {
      throw InputError(usage, fmt::format("--d{0}: need --{0}, which it is the gradient by", name));
    }
  }
  const std::pair<const char*, bool> of_all_rows[] = {{"top-k", flags.top_k.has_value()},
                                                      {"top-p", flags.top_p.has_value()},
                                                      {"min-p", flags.min_p.has_value()},
                                                      {"theta", flags.theta.has_value()}};
  for (const auto& [name, is_set] : of_all_rows) {
    if (is_set && is_given(std::string("row-") + name)) {
      throw InputError(usage, fmt::format("--{0}: need either --{0} or --row-{0}, got both", name));
    }
  }
  require_parameter_flags(flags, op);
}

// Parses LEFT:RIGHT into the ABI's numbers: 1 more than the keys, 0 for all.
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
  attributes.reverse = flags.reverse;
  attributes.sigmoid = flags.sigmoid;
  attributes.groups = static_cast<std::int32_t>(flags.groups.value_or(0));
  attributes.groups_kept = static_cast<std::int32_t>(flags.groups_kept.value_or(attributes.groups));
  attributes.group_items = static_cast<std::int32_t>(flags.group_items.value_or(flags.groups ? 1 : 0));
  attributes.routed_scale = flags.routed_scale.value_or(0);
  attributes.softcap = flags.softcap.value_or(0);
  if (input_of(task, Role::dropout) != nullptr) attributes.dropout_scale = flags.dropout_scale.value_or(1);
  attributes.top_p = flags.top_p.value_or(0);
  attributes.min_p = flags.min_p.value_or(0);
  attributes.causal_top_left = flags.top_left;
  attributes.sigmoid_bias = flags.sigmoid_bias;
  if (!flags.window.empty()) {
    std::tie(attributes.window_left_plus_1, attributes.window_right_plus_1) = window_of(flags.window);
  }
  if (task.op->filters) attributes.k = static_cast<std::int32_t>(flags.top_k.value_or(0));
  if (task.op->elements.empty()) return attributes;
  // By default k is the last dimension of the ids.
  const Shape& ids = outputs.back().shape;
  const std::int64_t k = flags.top_k.value_or(ids.empty() ? 0 : ids.back());
  attributes.k = static_cast<std::int32_t>(std::min<std::int64_t>(k, std::numeric_limits<std::int32_t>::max()));
  return attributes;
}

FileTensor read_one(const OpFile& flag, const std::string& place, std::optional<numerics::Format> voids) {
  try {
    return read_tensor(place, voids);
  } catch (const models::UnsupportedTensorFile& error) {
    throw InputError(unsupported, fmt::format("--{}: {}", flag.name, error.what()));
  } catch (const models::TensorFileError& error) {
    throw InputError(malformed, fmt::format("--{}: {}", flag.name, error.what()));
  }
}

void require_dtype(const OpFile& flag, const FileTensor& file, Op op, std::optional<numerics::Format> dtype) {
  if (!dtype || !flag.role || flag.role == Role::mask || flag.role == Role::dropout || is_wide(op, *flag.role)) return;
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

void add_file_flags(Verb verb, CheckFlags& flags) {
  for (const FileFlag& flag : file_flags) {
    verb.add_option(std::string(flag.names), flags.files[std::string(flag.name())], flag.text, typed("FILE[:NAME]"));
  }
}

std::string needed_flags(Op op) {
  std::vector<std::string> names;
  for (const OpFile& file : files_of(op)) {
    if (file.is_needed) names.push_back(fmt::format("--{}", file.name));
  }
  const std::string last = std::exchange(names.back(), "");
  names.pop_back();
  return fmt::format("{} and {}", fmt::join(names, ", "), last);
}

std::string flags_of_op(const CheckFlags& flags, Op op) {
  std::vector<std::string> names;
  for (const OpFile& file : files_of(op)) names.push_back(fmt::format("--{}", file.name));
  for (const ParameterFlag& flag : parameter_flags(flags, op)) {
    if (flag.of_op) names.push_back(fmt::format("--{}", flag.name));
  }
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
  for (const OpFile& flag : files_of(op)) {
    const std::string& place = flags.files.find(flag.name)->second;
    if (place.empty()) continue;
    FileTensor file = read_one(flag, place, dtype);
    require_dtype(flag, file, op, dtype);
    (flag.role ? result.task.inputs : result.outputs).push_back(file.tensor);
    if (!flag.role && has_parts(op) && !flag.is_needed) {
      result.task.asked.push_back(
          static_cast<std::size_t>(std::ranges::find(op->outputs, flag.name) - op->outputs.begin()));
    }
    if (flag.role && (op->attributes || op->filters)) result.task.roles.push_back(*flag.role);
    result.roles.emplace_back(flag.name);
    result.files.push_back(std::move(file));
  }
  result.task.theta = flags.theta.value_or(1);
  result.task.scale = flags.scale.value_or(has_scores(op) ? usual_scale(result.task.inputs[0]) : 1);
  result.task.causal = flags.causal;
  result.task.attributes = attributes_of(flags, result.task, result.outputs);
  result.contract = contract_of_files(flags, result);
  return result;
}

}  // namespace softcheck::cli
