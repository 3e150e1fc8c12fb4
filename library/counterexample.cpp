#include "library/counterexample.hpp"

#include <string>
#include <string_view>
#include <utility>

#include "judge/ops/attention/attention_op.hpp"
#include "judge/ops/rows/row_call.hpp"
#include "library/answer.hpp"

namespace softcheck::library {

using namespace proptests;

namespace {

using Json = nlohmann::ordered_json;

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
    if (op->of_whole_calls) json["mean"] = attributes.mean;
    return json;
  }
  Json json{{"window", Json::array({attributes.window_left_plus_1 - 1, attributes.window_right_plus_1 - 1})},
            {"softcap", attributes.softcap},
            {"causal_top_left", attributes.causal_top_left},
            {"interleaved_heads", attributes.interleaved_heads}};
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

}  // namespace

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

}  // namespace softcheck::library
