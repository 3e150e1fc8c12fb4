#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "judge/survivors/criterion.hpp"

namespace softcheck::proptests {

/// A matrix of logits as a published test makes it.
struct LogitMatrix {
  std::string op = "softmax";  // or log_softmax, logsumexp
  numerics::Format format = numerics::Format::f32;
  std::int64_t rows = 1;
  std::int64_t columns = 1;
  double theta = 1;
  std::int64_t input_stride = 0;  // elements from one row to the next; 0: columns
  std::int64_t output_stride = 0;
};

/// The logit in a row and a column, rounded to the format by the caller of it.
using LogitSource = std::function<double(std::int64_t row, std::int64_t column)>;

/// The rows taken of a published number of them: at most max(2, 2^16 / columns).
std::int64_t rows_taken(std::int64_t published, std::int64_t columns);

/// The call and the exact values, rounded to the format.
///
/// throws   std::invalid_argument when a row has nothing visible
CriterionCase softmax_case(const LogitMatrix& matrix, const LogitSource& logit, std::vector<Comparison> comparisons);

}  // namespace softcheck::proptests
