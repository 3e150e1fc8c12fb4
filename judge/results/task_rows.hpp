#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "judge/results/tensor_judge.hpp"

namespace softcheck::proptests {

/// Rows of one kind, row-major over the leading dimensions of their outputs.
struct RowBlock {
  std::string_view kind;  // a string literal: "row", "query", "key", "sinks", "bias"
  std::vector<std::int64_t> shape;
};

/// The rows of a task: the leading dimensions of the first input. For attention's gradient those of q, then of k, then
/// the sinks and the rows of the bias if the caller has their gradients.
std::vector<RowBlock> row_blocks(const TensorTask& task);

/// Number of rows.
std::size_t rows_of_task(const TensorTask& task);

struct RowPlace {
  std::string_view kind;
  std::vector<std::int64_t> index;
  std::size_t number = 0;  // in its block
};
/// throws   std::out_of_range if there is no such row
RowPlace place_of_row(const std::vector<RowBlock>& blocks, std::size_t row);

/// "[0, 2, 17]"
std::string list_text(const std::vector<std::int64_t>& index);

/// The output that a claim is about: "dk", "weights"; empty if the op has one output, or the claim is about several.
std::string_view output_of_claim(Op op, std::string_view claim);

}  // namespace softcheck::proptests
