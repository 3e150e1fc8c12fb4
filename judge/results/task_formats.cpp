// What of a task follows from its tensors: the contract's formats and the outputs' shapes.
#include "judge/results/attention_tensors.hpp"
#include "judge/results/gradient_tensors.hpp"
#include "judge/results/row_tensors.hpp"
#include "judge/results/task_checks.hpp"
#include "judge/results/tensor_judge.hpp"

namespace softcheck::proptests {

numerics::Contract contract_for(const TensorTask& task, std::string_view words,
                                std::optional<numerics::Format> output) {
  const numerics::Format input = input_format(task);
  const numerics::Format usual = task.op->attention ? input : output_format(task.op, input);
  return numerics::parse_contract(words, input, output.value_or(usual));
}

std::vector<std::int64_t> output_shape(const TensorTask& task, std::size_t which) {
  require_output_number(task, which);
  if (!task.op->attention) return RowTensors(task).output_shape(which);
  return is_attention_gradient(task.op) ? GradientTensors(task).output_shape(which)
                                        : AttentionTensors(task).output_shape(which);
}

}  // namespace softcheck::proptests
