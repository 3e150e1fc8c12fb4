// softcheck_judge_library, softcheck_judge_function, softcheck_infer_library and softcheck_infer_function.
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <utility>

#include "judge/exhaustive/exhaustive_judge.hpp"
#include "judge/inference/contract_inference.hpp"
#include "judge/kernel_judge.hpp"
#include "judge/ops/attention/attention_op.hpp"
#include "judge/ops/rows/row_call.hpp"
#include "judge/report/kernel_report.hpp"
#include "judge/trial/kernel_judgement.hpp"
#include "library/answer.hpp"
#include "library/options.hpp"
#include "numerics/rounding/contract.hpp"

namespace softcheck::library {

using namespace proptests;

namespace {

using Json = nlohmann::ordered_json;

static_assert(SOFTCHECK_CALL_MALFORMED == returned_malformed);

// The text passed to softcheck_printed since the current call began.
thread_local std::string printed_by_call;

KernelSource source_of(const char* kernel) {
  if (kernel == nullptr) throw UsageError("kernel: need LIB:SYMBOL, got NULL");
  try {
    return parse_kernel_source(kernel);
  } catch (const std::invalid_argument& error) {
    throw UsageError(error.what());
  }
}

ForwardedEnd forwarded_end(int returned) {
  ForwardedEnd end;
  end.returned = returned;
  end.end = returned == 0 ? CallEnd::done : CallEnd::refused;
  if (returned == SOFTCHECK_CALL_CRASHED) {
    end.end = CallEnd::crashed;
    end.death = "a crash, as the function says";
  } else if (returned == SOFTCHECK_CALL_TIMED_OUT) {
    end.end = CallEnd::timed_out;
    end.death = "no answer in time";
  } else if (returned == SOFTCHECK_CALL_MALFORMED) {
    end.end = CallEnd::malformed;
    end.death = "returning something else than was asked for";
  }
  end.printed = std::exchange(printed_by_call, {});
  return end;
}

KernelSource source_of(softcheck_function function, void* context, const softcheck_options& options) {
  if (function == nullptr) throw UsageError("function: need one, got NULL");
  KernelSource source;
  source.symbol = options.name == nullptr ? "function" : options.name;
  source.again = options.again != nullptr ? text_of(options.again)
                                          : "softcheck_judge_function(" + source.symbol +
                                                ", context, options) with the same options{contract}{replay}";
  const auto call = [function, context](const softcheck_call* what) { return function(what, context); };
  const std::string isolation = text_of(options.isolation);
  if (isolation == "elsewhere") source.forwarded_isolation = "a process that the function asks: not contained";
  if (isolation == "none" || isolation == "elsewhere") {
    source.forwarded = [call](const softcheck_call* what) {
      printed_by_call.clear();
      return forwarded_end(call(what));
    };
  } else {
    // after_fork runs once per process: each fork has its own copy of the flag, and the process that forks never calls.
    const auto told = std::make_shared<bool>(options.after_fork == nullptr);
    source.callable = [call, told, after_fork = options.after_fork](const softcheck_call* what) {
      if (!*told) after_fork();
      *told = true;
      return call(what);
    };
  }
  return source;
}

KernelSubject with_source(const softcheck_options& options, KernelSource source) {
  const std::string isolation = text_of(options.isolation);
  if (!source.callable && !source.forwarded && (isolation == "none" || isolation == "elsewhere")) {
    throw UsageError("isolation: need full or process for a library, got '" + isolation + "'");
  }
  const std::string device = text_of(options.device);
  if (!device.empty() && device != "cpu" && device != "cuda") {
    throw UsageError("device: need cpu or cuda, got '" + device + "'");
  }
  KernelSubject subject = subject_of(options);
  subject.source = std::move(source);
  if (device == "cuda") {
    if (subject.source.callable || subject.source.forwarded) {
      throw UsageError("device: cuda needs a kernel of a library, got a function");
    }
    subject.source.device = Device::cuda;
  }
  return subject;
}

KernelJudgement replay(const KernelSubject& subject, const std::string& text, const JudgeOptions& options) {
  const std::size_t blank = text.find(' ');
  if (blank == std::string::npos) throw MalformedError("replay: need 'PROPERTY CASE', got '" + text + "'");
  try {
    return replay_kernel(subject, text.substr(0, blank), text.substr(blank + 1), options);
  } catch (const std::invalid_argument& error) {
    throw MalformedError("replay: " + std::string(error.what()));
  }
}

// Enough for a row of the longest length. A shrunk case is not larger.
constexpr std::size_t most_values = std::size_t{1} << 20;

Json tensor(std::string_view name, const InputTensor& input) {
  Json result;
  result["name"] = name;
  const int bits = input.place.integer_bits;
  result["dtype"] = input.place.format ? std::string(numerics::properties(*input.place.format).name)
                    : bits == 8        ? "u8"
                                       : "i" + std::to_string(bits);
  result["shape"] = input.place.shape;
  result["values"] = nullptr;
  if (input.values.size() > most_values) return result;
  Json values = Json::array();
  for (const double value : decode(input.place, encode(input))) values.push_back(number(value));
  result["values"] = std::move(values);
  return result;
}

Json attributes_json(Op op, const Attributes& attributes) {
  if (op->is_linear()) return {{"ignore_index", attributes.ignore_index}};
  if (!op->is_attention()) {
    Json json{{"label_smoothing", attributes.label_smoothing},
              {"z_loss", attributes.z_loss},
              {"softcap", attributes.softcap},
              {"ignore_index", attributes.ignore_index}};
    if (attributes.top_p != 0) json["top_p"] = attributes.top_p;
    if (attributes.min_p != 0) json["min_p"] = attributes.min_p;
    if (attributes.k != 0) {
      json["k"] = attributes.k;
      json["renormalize"] = attributes.renormalize;
    }
    if (attributes.sigmoid) json["sigmoid"] = true;
    if (attributes.groups != 0) {
      json["groups"] = attributes.groups;
      json["groups_kept"] = attributes.groups_kept;
      json["group_items"] = attributes.group_items;
    }
    if (attributes.routed_scale != 0) json["routed_scale"] = attributes.routed_scale;
    if (op->of_whole_calls) json["mean"] = attributes.mean;
    if (is_divergence(op)) json["reverse"] = attributes.reverse;
    return json;
  }
  Json json{{"window", Json::array({attributes.window_left_plus_1 - 1, attributes.window_right_plus_1 - 1})},
            {"softcap", attributes.softcap},
            {"causal_top_left", attributes.causal_top_left},
            {"interleaved_heads", attributes.interleaved_heads}};
  if (attributes.dropout_scale != 0) json["dropout_scale"] = attributes.dropout_scale;
  if (attributes.sigmoid_bias) json["sigmoid_bias"] = *attributes.sigmoid_bias;
  return json;
}

TensorCall call_of_case(const KernelSubject& subject, std::string_view text) {
  if (subject.op->is_attention()) {
    AttentionCase attention;
    from_text(text, attention);
    attention = subject.op.attention_op().completed(std::move(attention));
    AttentionTask task{subject.op, subject.contract, output_format(subject.op, attention.format)};
    return subject.op.attention_op().call(task, attention);
  }
  RowMatrixCase matrix;
  if (text.starts_with("matrix")) {
    from_text(text, matrix);
  } else {
    RowCase row_case;
    from_text(text, row_case);
    matrix = matrix_of(row_case);
  }
  const CallForm form{false, static_cast<std::size_t>(subject.domain.alignment), subject.domain.hides_finite_numbers()};
  return call_of(matrix, subject.op, {subject.contract.input, subject.contract.output}, form);
}

// The failing case of a judgement as tensors, so that a program can run it; null if there is none.
Json counterexample_of(const KernelSubject& subject, const KernelJudgement& judgement) {
  if (!judgement.counterexample) return nullptr;
  const std::string& text = judgement.counterexample->case_text;
  Json result;
  result["property"] = judgement.failed_property;
  result["case"] = text;
  result["replay"] = judgement.failed_property + " " + text;
  try {
    const TensorCall call = judgement.passed ? *judgement.passed : call_of_case(subject, text);
    Json inputs = Json::array();
    const std::size_t own = subject.op->inputs.size();
    for (std::size_t i = 0; i < call.inputs.size(); ++i) {
      const Role role = call.op != 0 && i < call.roles.size() ? call.roles[i]
                        : i < own                             ? subject.op->inputs[i].role
                                                              : Role::mask;
      inputs.push_back(tensor(to_string(role), call.inputs[i]));
    }
    result["inputs"] = std::move(inputs);
    result["theta"] = call.theta;
    result["scale"] = call.scale;
    result["causal"] = call.causal;
    if (call.op != 0) result["attributes"] = attributes_json(subject.op, call.attributes);
  } catch (const std::invalid_argument&) {
    result["inputs"] = nullptr;  // the failure has no call, such as one while the library loads
  }
  return result;
}

void add_judgement(const KernelSubject& subject, const KernelJudgement& judgement, Json& members) {
  members["calls"] = judgement.calls;
  members["refused"] = judgement.refused;
  members["rows"] = judgement.rows;
  members["seconds"] = judgement.seconds;
  members["isolation"] = judgement.isolation;
  members["notes"] = Json::array();
  for (const auto* lines : {&judgement.notes, &judgement.refusals}) {
    for (const std::string& note : *lines) members["notes"].push_back(printable_utf8(note));
  }
  members["printed"] = Json::array();
  for (const std::string& line : judgement.printed_lines) members["printed"].push_back(printable_utf8(line));
  members["ended_early"] = judgement.ended_early;
  members["contract"] = numerics::to_string(subject.contract);
  members["counterexample"] = counterexample_of(subject, judgement);
}

Json statement_of(const ExhaustiveStatement& statement) {
  return {{"name", statement.name},
          {"rows", statement.rows},
          {"judged", statement.judged},
          {"verdict", to_string(statement.verdict)},
          {"share", number(statement.share)},
          {"share_at_most", number(statement.share_at_most)},
          {"claim", statement.claim},
          {"worst", statement.worst},
          {"least_exponential", statement.least_exponential},
          {"exponential_at", statement.exponential_at},
          {"seconds", statement.seconds}};
}

void add_statements(const KernelSubject& subject, const std::string& name, const ExhaustiveJudgement& judged,
                    Json& members) {
  members["processor_seconds"] = judged.processor_seconds;
  members["statements"] = Json::array();
  for (const ExhaustiveStatement& statement : judged.statements) {
    members["statements"].push_back(statement_of(statement));
  }
  members["arguments"] = Json::array();
  for (const ArgumentError& error : judged.errors) {
    members["arguments"].push_back({{"statement", error.enumeration},
                                    {"argument", error.argument},
                                    {"worst_ulps", number(error.ulps)},
                                    {"allowed_ulps", number(error.allowed_ulps)},
                                    {"share", number(error.share)}});
  }
  if (judged.errors.empty()) return;
  const std::string title = name + " " + std::string(numerics::properties(subject.contract.input).name) + " [" +
                            numerics::to_string(subject.contract) + "]";
  members["picture"] = to_svg(judged, title, std::string("softcheck ") + softcheck_version());
}

Answer judge(const softcheck_options& options, KernelSource source) {
  const KernelSubject subject = with_source(options, std::move(source));
  const JudgeOptions how = judge_options_of(options);
  const std::string text = text_of(options.replay);
  if (how.effort == Effort::exhaustive && text.empty()) {
    try {
      require_enumerable(subject);
    } catch (const std::invalid_argument& error) {
      throw UsageError(error.what());
    }
  }
  if (how.effort == Effort::exhaustive && text.empty()) {
    const ExhaustiveJudgement judged = judge_exhaustively(subject, interruptible(how));
    Answer result = answer_of({rows_of(subject, judged.judgement)}, summary_of(judged.judgement));
    add_judgement(subject, judged.judgement, result.members);
    const std::string name = text_of(options.name);
    add_statements(subject, name.empty() ? subject.source.symbol : name, judged, result.members);
    return result;
  }
  KernelJudgement judgement = text.empty() ? judge_kernel(subject, how) : replay(subject, text, how);
  if (const std::string hint = text.empty() ? inference_hint(subject, judgement) : ""; !hint.empty()) {
    judgement.notes.push_back(hint);
  }
  Answer result = answer_of({rows_of(subject, judgement)}, summary_of(judgement));
  add_judgement(subject, judgement, result.members);
  return result;
}

// null without a contract.
Json grade_of(const Inference& inference) {
  if (!inference.contract) return nullptr;
  const ContractGrade& grade = inference.grade;
  return {{"own_arithmetic", grade.is_own()},  {"weaker_words", grade.weaker},
          {"plausible", grade.is_plausible()}, {"rows", grade.rows},
          {"rows_needing", grade.needing},     {"others_share", number(grade.others_share)}};
}

Answer infer(const softcheck_options& options, KernelSource source) {
  if (!text_of(options.contract).empty()) throw UsageError("contract: infer finds it: need none beside it");
  if (!text_of(options.replay).empty()) throw UsageError("replay: infer judges by what it finds: need none beside it");
  if (text_of(options.effort) == to_string(Effort::exhaustive)) {
    throw UsageError("effort: exhaustive judges by a contract: infer needs quick, default or deep");
  }
  const KernelSubject subject = with_source(options, std::move(source));
  const Inference inference = infer_contract(subject, judge_options_of(options));
  const std::string found = inference.contract ? numerics::to_string(*inference.contract) : "";
  const std::string summary =
      inference.summary() +
      (inference.contract ? ": " + std::to_string(inference.answers) + " rows keep to '" + found + "'" : "");
  Answer result = answer_of({rows_of(inference)}, summary);
  add_judgement(inference.subject, inference.judgement, result.members);
  result.members["contract"] = inference.contract ? Json(found) : Json(nullptr);
  result.members["contract_words"] = Json::array();
  for (const InferredWord& word : inference.words) {
    result.members["contract_words"].push_back(
        {{"word", word.word}, {"evidence", to_string(word.evidence)}, {"because", word.why}});
  }
  result.members["grade"] = grade_of(inference);
  result.members["failure"] = printable_utf8(inference.failure);
  return result;
}

}  // namespace

}  // namespace softcheck::library

using namespace softcheck::library;

int softcheck_judge_library(const char* kernel, const softcheck_options* given, char** report) {
  return answer(report, [&] { return judge(options_of(given), source_of(kernel)); });
}

int softcheck_judge_function(softcheck_function function, void* context, const softcheck_options* given,
                             char** report) {
  return answer(report, [&] {
    const softcheck_options options = options_of(given);
    return judge(options, source_of(function, context, options));
  });
}

int softcheck_infer_library(const char* kernel, const softcheck_options* given, char** report) {
  return answer(report, [&] { return infer(options_of(given), source_of(kernel)); });
}

int softcheck_infer_function(softcheck_function function, void* context, const softcheck_options* given,
                             char** report) {
  return answer(report, [&] {
    const softcheck_options options = options_of(given);
    return infer(options, source_of(function, context, options));
  });
}

void softcheck_printed(const char* text) {
  constexpr std::size_t most = 64 << 10;  // keep the end, which the report shows
  try {
    printed_by_call += text_of(text);
    if (printed_by_call.size() > most) printed_by_call.erase(0, printed_by_call.size() - most);
  } catch (...) {  // out of memory: drop the text
    printed_by_call.clear();
  }
}

void softcheck_free(char* report) { std::free(report); }
