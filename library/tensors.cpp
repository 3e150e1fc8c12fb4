// softcheck_judge_tensors, softcheck_reference, softcheck_threshold: they judge existing results and call no kernel.
#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "judge/ops/rows/row_call.hpp"
#include "judge/results/contract_fit.hpp"
#include "judge/results/task_checks.hpp"
#include "judge/results/tensor_judge.hpp"
#include "judge/results/tensor_report.hpp"
#include "library/answer.hpp"
#include "library/options.hpp"
#include "numerics/rounding/contract.hpp"

namespace softcheck::library {

using namespace proptests;

namespace {

using Json = nlohmann::ordered_json;

constexpr std::uint32_t known_roles = SOFTCHECK_ROLE_LAMBDA;

// Runs a function that reads tensors; its errors become MalformedError.
template <class Function>
auto reading(Function function) {
  try {
    return function();
  } catch (const UsageError&) {
    throw;
  } catch (const numerics::ContractError& error) {
    throw UsageError("contract: " + error.problem);
  } catch (const std::invalid_argument& error) {
    throw MalformedError(error.what());
  }
}

// Does the op have attributes, which are read from a call of version 2?
bool has_attributes(Op op) {
  return is_loss(op) || is_divergence(op) || !op->elements.empty() || merges_states(op) || op->attributes ||
         op->filters || op->is_linear();
}

// Without a call of version 2 the attributes are off.
void set_attributes(const softcheck_call* call, TensorTask& task) {
  const softcheck_call_2* const second = softcheck_version_2(call);
  if (!has_attributes(task.op) || second == nullptr) return;
  const softcheck_attributes* const given = second->attributes;
  if (given == nullptr) throw UsageError("attributes: need those of a call of version 2, got NULL");
  // Callers built with an earlier header have no dropout_scale, no sigmoid_bias, no reverse and no routers.
  constexpr std::size_t with_dropout = offsetof(softcheck_attributes, sigmoid_bias);
  const std::size_t least = is_divergence(task.op) ? offsetof(softcheck_attributes, sigmoid)
                            : task.op->sigmoid     ? offsetof(softcheck_attributes, reverse)
                                                   : offsetof(softcheck_attributes, dropout_scale);
  if (given->size < least) {
    throw UsageError("attributes: need size " + std::to_string(sizeof(softcheck_attributes)) + ", got " +
                     std::to_string(given->size));
  }
  if (given->size >= with_dropout) task.attributes.dropout_scale = given->dropout_scale;
  if (given->mean != 0 && !task.op->of_whole_calls) {
    throw UsageError("attributes: need mean 0, as " + std::string(to_string(task.op)) + " has a value for each row");
  }
  task.attributes.label_smoothing = given->label_smoothing;
  task.attributes.z_loss = given->z_loss;
  if (has_labels(task.op) || task.op->is_linear()) task.attributes.ignore_index = given->ignore_index;
  task.attributes.mean = given->mean != 0;
  task.attributes.lse_base2 = given->lse_base2 != 0;
  task.attributes.window_left_plus_1 = given->window_left_plus_1;
  task.attributes.window_right_plus_1 = given->window_right_plus_1;
  task.attributes.softcap = given->softcap;
  task.attributes.causal_top_left = given->causal_top_left != 0;
  task.attributes.k = given->k;
  task.attributes.renormalize = given->renormalize != 0;
  task.attributes.top_p = given->top_p;
  task.attributes.min_p = given->min_p;
  if (task.op->sigmoid) task.attributes.sigmoid_bias = given->sigmoid_bias;
  if (is_divergence(task.op)) task.attributes.reverse = given->reverse != 0;
  if (task.op->elements.empty() || given->size < sizeof(softcheck_attributes)) return;
  task.attributes.sigmoid = given->sigmoid != 0;
  task.attributes.groups = given->groups;
  task.attributes.groups_kept = given->groups_kept;
  task.attributes.group_items = given->group_items;
  task.attributes.routed_scale = given->routed_scale;
}

// Roles are read for sampling, for attention, whose scores may have more terms, and for its gradient. If
// a call of attention names no roles, its inputs are q, k, v and a mask.
void set_roles(const softcheck_call* call, TensorTask& task) {
  const softcheck_call_2* const second = softcheck_version_2(call);
  if (!(task.op->attributes || task.op->filters) || second == nullptr) return;
  if (second->input_roles == nullptr && !is_attention_gradient(task.op)) return;
  if (second->input_roles == nullptr) throw UsageError("input_roles: need one for each input, got NULL");
  for (std::uint32_t i = 0; i < call->n_inputs; ++i) {
    const std::uint32_t role = second->input_roles[i];
    if (role > known_roles) {
      throw UsageError("input_roles: need roles of softcheck_role, got " + std::to_string(role) + " for input " +
                       std::to_string(i));
    }
    task.roles.push_back(static_cast<Role>(role));
  }
}

TensorTask task_of(const softcheck_call* call, const softcheck_options& options) {
  if (call == nullptr) throw UsageError("call: need one, got NULL");
  TensorTask task;
  task.op = op_of(options);
  task.theta = call->theta;
  task.scale = call->scale;
  task.causal = call->causal != 0;
  set_attributes(call, task);
  set_roles(call, task);
  // input_name depends on the number of inputs.
  task.inputs.resize(call->n_inputs);
  for (std::uint32_t i = 0; i < call->n_inputs; ++i) {
    if (call->inputs == nullptr || call->inputs[i] == nullptr) {
      throw UsageError("call: need " + std::to_string(call->n_inputs) + " inputs, got NULL for one");
    }
    task.inputs[i] = from_dlpack(*call->inputs[i], input_name(task, i));
  }
  return task;
}

// Finds which optional outputs the call has. They come after the other outputs, and each needs its input (dsinks needs
// sinks, dbias a bias). If one output could be either, it is dsinks if it has one dimension.
void set_optional_outputs(const softcheck_call& call, TensorTask& task) {
  const std::size_t always = task.op->outputs.size() - task.op->optional_outputs;
  if (call.outputs == nullptr || call.n_outputs <= always) return;
  const std::size_t given = call.n_outputs - always;
  for (std::size_t k = 0; k < task.op->optional_outputs; ++k) {
    if (proptests::input_of(task, task.op->optional_output_inputs[k]) != nullptr) task.asked.push_back(always + k);
  }
  const DLTensor* const last = call.outputs[call.n_outputs - 1];
  if (task.asked.size() > 1 && given == 1 && last != nullptr) {
    const bool of_heads = last->ndim == 1;
    std::erase_if(task.asked, [&](std::size_t which) { return (task.op->extents[which] == Extent::rows) != of_heads; });
  }
  // Fewer outputs than allowed are the first ones. For more, or none, the judge reports what it needs.
  if (task.asked.size() > given) task.asked.resize(given);
}

std::vector<GivenTensor> outputs_of(const softcheck_call& call, TensorTask& task) {
  set_optional_outputs(call, task);
  const std::size_t most = task.op->outputs.size() - task.op->optional_outputs + task.asked.size();
  std::vector<GivenTensor> outputs;
  for (std::uint32_t i = 0; i < call.n_outputs; ++i) {
    if (call.outputs == nullptr || call.outputs[i] == nullptr) {
      throw UsageError("call: need " + std::to_string(call.n_outputs) + " outputs, got NULL for one");
    }
    const std::size_t which = has_parts(task.op) && i < most ? number_of_output(task, i) : i;
    outputs.push_back(from_dlpack(*call.outputs[i], output_name(task.op, which)));
  }
  return outputs;
}

numerics::Contract contract_of(const TensorTask& task, const softcheck_options& options,
                               std::span<const GivenTensor> outputs) {
  std::optional<numerics::Format> output;
  if (!outputs.empty()) output = outputs.front().format;
  return contract_for(task, text_of(options.contract), output);
}

const char* word_of(numerics::Decision decision) {
  switch (decision) {
    case numerics::Decision::proved:
      return "pass";
    case numerics::Decision::violated:
      return "fail";
    default:
      return "undecided";
  }
}

Json row(const JudgedTensorRow& found, const ReportedRow& shown) {
  const ValueFinding& finding = found.finding;
  Json result;
  result["index"] = found.index;
  if (!shown.of.empty()) result["of"] = shown.of;
  result["claim"] = finding.claim;
  result["item"] = shown.item ? Json(*shown.item) : Json(nullptr);
  result["got"] = number(finding.got);
  result["expected"] = {number(finding.expected.lower_double()), number(finding.expected.upper_double())};
  result["by_identity"] = finding.by_identity;
  if (!finding.due.empty()) result["due"] = finding.due;
  result["threshold"] = number(finding.threshold);
  result["share"] = number(found.share);
  result["verdict"] = word_of(finding.decision);
  if (!finding.reason.empty()) result["reason"] = finding.reason;
  return result;
}

Answer judge(const softcheck_call* call, const softcheck_options& options) {
  TensorTask task = task_of(call, options);
  const std::vector<GivenTensor> outputs = outputs_of(*call, task);
  const numerics::Contract contract = contract_of(task, options, outputs);
  TensorOptions how;
  if (options.worst != 0) how.worst = options.worst;
  how.exempt = exemptions_of(options, task.op);
  if (options.interrupted != nullptr) how.interrupted = [&] { return options.interrupted(options.context) != 0; };
  if (options.progress != nullptr) {
    how.progress = [&](std::size_t done, std::size_t rows) {
      options.progress(options.context, nullptr, done, rows, 0);
    };
  }
  const TensorJudgement judgement = judge_tensors(task, contract, outputs, how);
  const std::string failing = failing_text(judgement, task);
  const std::string rows = std::to_string(judgement.judged) + (judgement.judged == 1 ? " row" : " rows");
  const std::string summary =
      std::string(to_string(judgement.verdict)) + ": " + (failing.empty() ? rows + " judged" : failing);
  Answer result = answer_of({judgement.rows}, summary);
  result.status = static_cast<softcheck_status>(exit_code(judgement.verdict));
  result.members["verdict"] = to_string(judgement.verdict);
  const ContractFit fit = fitting_contract(task, contract, outputs, judgement, how, seconds_for_fit(judgement));
  const std::string worst = worst_text(judgement, task, contract, outputs, how.worst);
  result.members["text"] = to_table({judgement.rows}) + (fit.reading.empty() ? worst + fit.text() : fit.text() + worst);
  result.members["picture"] = slack_picture(judgement, task, contract);
  result.members["judged"] = judgement.judged;
  result.members["failed"] = judgement.failed;
  result.members["worst"] = Json::array();
  for (const JudgedTensorRow& found : judgement.worst) {
    result.members["worst"].push_back(row(found, reported_row(found, task, contract, outputs)));
  }
  result.members["profile"] = Json::array();
  for (const double share : judgement.profile) result.members["profile"].push_back(number(share));
  result.members["histogram"] = judgement.histogram;
  result.members["contract"] = numerics::to_string(contract);
  result.members["fitting_contract"] = fit.contract ? Json(numerics::to_string(*fit.contract)) : Json(nullptr);
  result.members["ended_early"] = judgement.ended_early;
  result.members["seconds"] = judgement.seconds;
  return result;
}

// Sets "shape" and "count" for the requested output, and returns its number of elements.
std::size_t elements_of(const TensorTask& task, std::uint32_t which, Answer& result) {
  const std::vector<std::int64_t> shape = output_shape(task, which);
  std::size_t elements = 1;
  for (const std::int64_t size : shape) elements *= static_cast<std::size_t>(size);
  result.members["verdict"] = "pass";
  result.members["error"] = nullptr;
  result.members["shape"] = shape;
  result.members["count"] = elements;
  return elements;
}

template <class Fill>
Answer filled(const softcheck_call* call, std::uint32_t which, const softcheck_options& options, std::size_t count,
              bool has_room, Fill fill) {
  TensorTask task = task_of(call, options);
  const std::vector<GivenTensor> outputs = outputs_of(*call, task);
  const numerics::Contract contract = contract_of(task, options, outputs);
  Answer result;
  const std::size_t elements = elements_of(task, which, result);
  result.members["contract"] = numerics::to_string(contract);
  std::string summary = std::to_string(elements) + " values";
  if (count != elements || (elements > 0 && !has_room)) {
    summary = "count: need room for " + summary + ", got " + (has_room || count == 0 ? std::to_string(count) : "NULL");
    result.status = SOFTCHECK_USAGE;
    result.members["verdict"] = "error";
    result.members["error"] = summary;
  } else {
    fill(task, contract);
  }
  result.members["summary"] = result.members["text"] = summary;
  return result;
}

}  // namespace

}  // namespace softcheck::library

using namespace softcheck::library;

int softcheck_judge_tensors(const softcheck_call* call, const softcheck_options* given, char** report) {
  return answer(report, [&] { return reading([&] { return judge(call, options_of(given)); }); });
}

int softcheck_reference(const softcheck_call* call, uint32_t which, const softcheck_options* given, double* lower,
                        double* upper, size_t count, char** report) {
  return answer(report, [&] {
    return reading([&] {
      return filled(call, which, options_of(given), count, lower != nullptr && upper != nullptr,
                    [&](const softcheck::proptests::TensorTask& task, const softcheck::numerics::Contract& contract) {
                      softcheck::proptests::reference(task, contract, which, {lower, count}, {upper, count});
                    });
    });
  });
}

int softcheck_threshold(const softcheck_call* call, uint32_t which, const softcheck_options* given, double* allowed,
                        size_t count, char** report) {
  return answer(report, [&] {
    return reading([&] {
      return filled(call, which, options_of(given), count, allowed != nullptr,
                    [&](const softcheck::proptests::TensorTask& task, const softcheck::numerics::Contract& contract) {
                      softcheck::proptests::thresholds(task, contract, which, {allowed, count});
                    });
    });
  });
}
