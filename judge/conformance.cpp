#include "judge/conformance.hpp"

#include <limits>
#include <stdexcept>
#include <vector>

#include "judge/kernel_judge.hpp"
#include "judge/report/kernel_report.hpp"
#include "judge/trial/kernel_claims.hpp"

namespace softcheck {

using namespace proptests;

namespace {

std::string_view next_word(std::string_view& words) {
  words.remove_prefix(std::min(words.size(), words.find_first_not_of(' ')));
  const std::string_view word = words.substr(0, words.find(' '));
  words.remove_prefix(word.size());
  return word;
}

bool read_requirement(std::string_view word, Requirements& required) {
  if (word == "in-place=out_gradient") return required.over_out_gradient = true;
  if (word != "deterministic" && word != "batch-invariant" && word != "in-place") return false;
  required.deterministic |= word == "deterministic";
  required.batch_invariant |= word == "batch-invariant";
  required.in_place |= word == "in-place";
  return true;
}

// Parses "OP DTYPE WORDS... on DOMAIN..."; the words may contain exempt=CLAIM several times.
KernelSubject read_subject(std::string_view words) {
  KernelSubject subject;
  subject.op = parse_op(next_word(words));
  const numerics::Format input = numerics::parse_format(next_word(words));
  numerics::Format output = output_format(subject.op, input);
  std::string contract;
  std::vector<std::string> exempt;
  while (true) {
    const std::string_view word = next_word(words);
    if (word.empty()) break;
    if (word == "on") {
      subject.domain = parse_domain(words, subject.op->is_attention());
      break;
    }
    if (read_requirement(word, subject.required)) continue;
    if (word.starts_with("out=")) {
      output = numerics::parse_format(word.substr(4));
    } else if (word.starts_with("exempt=")) {
      exempt.emplace_back(word.substr(7));
    } else {
      contract += " " + std::string(word);
    }
  }
  subject.contract = numerics::parse_contract(contract, input, output);
  subject.exempt = parse_exemptions(exempt, subject.op);
  return subject;
}

// One row of a tensor of shape (rows, n) or (rows).
template <class T>
struct RowView {
  T* first = nullptr;
  std::int64_t count = 0, stride = 1;

  RowView(const DLTensor& tensor, std::int64_t row) {
    const bool matrix = tensor.ndim == 2;
    count = matrix ? tensor.shape[1] : 1;
    const std::int64_t row_stride = tensor.strides != nullptr ? tensor.strides[0] : count;
    stride = matrix && tensor.strides != nullptr ? tensor.strides[1] : 1;
    if (tensor.data == nullptr || count == 0) return;
    first = reinterpret_cast<T*>(static_cast<char*>(tensor.data) + tensor.byte_offset) + row * row_stride;
  }
  std::size_t size() const { return static_cast<std::size_t>(count); }
  T& operator[](std::size_t i) const { return first[static_cast<std::int64_t>(i) * stride]; }
  std::span<T> contiguous() const { return {first, size()}; }
};

// -inf as a T; its bits if T holds a 16-bit format.
template <class T>
T masked_item(const DLDataType& type) {
  if constexpr (std::numeric_limits<T>::has_infinity) {
    return -std::numeric_limits<T>::infinity();
  } else {
    return type.code == kDLBfloat ? 0xff80 : 0xfc00;
  }
}

template <class T>
bool holds(const DLTensor& tensor) {
  const bool floating = tensor.dtype.code == kDLFloat || tensor.dtype.code == kDLBfloat;
  return tensor.device.device_type == kDLCPU && floating && tensor.dtype.bits == 8 * sizeof(T);
}

template <class In, class Out>
void run_row(const softcheck_call& call, std::int64_t row, const TemperedRowFunction<In, Out>& function) {
  const RowView<const In> in(*call.inputs[0], row);
  const RowView<Out> out(*call.outputs[0], row);
  const bool masked = call.n_inputs > 1;
  // Pass the caller's own memory if possible: the judge then detects reads beyond it.
  if (in.stride == 1 && out.stride == 1 && !masked) return function(in.contiguous(), call.theta, out.contiguous());
  std::vector<In> logits(in.size());
  for (std::size_t i = 0; i < logits.size(); ++i) logits[i] = in[i];
  if (masked) {
    const RowView<const std::uint8_t> mask(*call.inputs[1], row);
    for (std::size_t i = 0; i < logits.size(); ++i) {
      if (mask[i] == 0) logits[i] = masked_item<In>(call.inputs[0]->dtype);
    }
  }
  std::vector<Out> results(out.size());
  function(logits, call.theta, results);
  for (std::size_t i = 0; i < results.size(); ++i) out[i] = results[i];
}

}  // namespace

namespace conformance {

template <class In, class Out>
Kernel each_row(TemperedRowFunction<In, Out> row, bool tempered) {
  return [row = std::move(row), tempered](const softcheck_call* call) {
    if (call->abi_version != SOFTCHECK_KERNEL_ABI_VERSION || call->n_outputs != 1 || call->n_inputs > 2) return 1;
    if (!holds<In>(*call->inputs[0]) || !holds<Out>(*call->outputs[0]) || call->inputs[0]->ndim != 2) return 1;
    if (!tempered && call->theta != 1) return 1;
    for (std::int64_t r = 0; r < call->inputs[0]->shape[0]; ++r) run_row(*call, r, row);
    return 0;
  };
}

template Kernel each_row(TemperedRowFunction<float, float>, bool);
template Kernel each_row(TemperedRowFunction<double, double>, bool);
template Kernel each_row(TemperedRowFunction<std::uint16_t, std::uint16_t>, bool);
template Kernel each_row(TemperedRowFunction<std::uint16_t, float>, bool);

Conformance judge(KernelSource source, std::string_view words, const ConformanceOptions& options) {
  KernelSubject subject = read_subject(words);
  subject.source = std::move(source);
  JudgeOptions how = judge_options(options.effort ? *options.effort : effort_from_environment());
  how.run = options_from_environment(how.run);
  how.limits.seconds_per_call = options.seconds_per_call;
  const std::size_t blank = options.replay.find(' ');
  if (!options.replay.empty() && blank == std::string::npos) {
    throw std::invalid_argument("conforms: replay: need 'PROPERTY CASE', got '" + options.replay + "'");
  }
  KernelJudgement judgement = options.replay.empty() ? judge_kernel(subject, how)
                                                     : replay_kernel(subject, options.replay.substr(0, blank),
                                                                     options.replay.substr(blank + 1), how);
  const std::string hint = options.replay.empty() ? inference_hint(subject, judgement) : "";
  if (!hint.empty()) judgement.notes.push_back(hint);
  Conformance result;
  result.verdict = judgement.verdict;
  result.report.rows = rows_of(subject, judgement);
  result.text = summary_of(judgement) + "\n" + to_table(result.report);
  return result;
}

}  // namespace conformance

Conformance conforms(std::string_view kernel, std::string_view words, const ConformanceOptions& options) {
  return conformance::judge(parse_kernel_source(kernel), words, options);
}

}  // namespace softcheck
