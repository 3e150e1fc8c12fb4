#include "judge/results/task_rows.hpp"

#include <algorithm>
#include <stdexcept>

#include "judge/results/given_tensor.hpp"
#include "judge/results/task_checks.hpp"

namespace softcheck::proptests {
namespace {

std::vector<std::int64_t> leading(const GivenTensor* tensor) {
  if (tensor == nullptr || tensor->shape.empty()) return {};
  return {tensor->shape.begin(), tensor->shape.end() - 1};
}

}  // namespace

std::vector<RowBlock> row_blocks(const TensorTask& task) {
  if (is_attention_gradient(task.op)) {
    std::vector<RowBlock> blocks{{"query", leading(input_of(task, Role::query))},
                                 {"key", leading(input_of(task, Role::key))}};
    const std::size_t always = task.op->outputs.size() - task.op->optional_outputs;
    for (const std::size_t asked : task.asked) {
      const Role role = task.op->optional_output_inputs[asked - always];
      const GivenTensor* const tensor = input_of(task, role);
      // One number per sink, one row of numbers per row of the bias.
      const bool one_each = task.op->extents[asked] == Extent::rows;
      blocks.push_back({to_string(role), one_each && tensor != nullptr ? tensor->shape : leading(tensor)});
    }
    return blocks;
  }
  if (task.op->is_linear() && has_parts(task.op)) {
    return {{"row", leading(input_of(task, Role::hidden))}, {"class", leading(input_of(task, Role::weight))}};
  }
  if (has_one_value(task.op)) return {{"call", {}}};
  const GivenTensor* const first = input_of(task, task.op->inputs[0].role);
  if (!task.op->is_of_states()) return {{"row", leading(first)}};
  if (first == nullptr || first->shape.empty()) return {{"row", {}}};
  return {{"row", {first->shape.begin() + 1, first->shape.end()}}};
}

std::size_t rows_of_task(const TensorTask& task) {
  std::size_t rows = 0;
  for (const RowBlock& block : row_blocks(task)) rows += elements_of(block.shape, "rows");
  return rows;
}

RowPlace place_of_row(const std::vector<RowBlock>& blocks, std::size_t row) {
  for (const RowBlock& block : blocks) {
    const RowWalk walk(block.shape);
    if (row < walk.rows()) return {block.kind, walk.index(row), row};
    row -= walk.rows();
  }
  throw std::out_of_range("place_of_row: need a row of the task, got one " + std::to_string(row) + " beyond them");
}

std::string list_text(const std::vector<std::int64_t>& index) {
  std::string text;
  for (const std::int64_t i : index) text += (text.empty() ? "" : ", ") + std::to_string(i);
  return "[" + text + "]";
}

std::string_view output_of_claim(Op op, std::string_view claim) {
  const auto found = std::ranges::find(op->claims, claim);
  if (!has_parts(op) || found == op->claims.end()) return {};
  // If several claims are about one output, that is the last output.
  const auto which = static_cast<std::size_t>(found - op->claims.begin());
  return op->outputs[std::min(which, op->outputs.size() - 1)];
}

}  // namespace softcheck::proptests
