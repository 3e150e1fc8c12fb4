#include "judge/survivors/softmax_case.hpp"

#include <algorithm>
#include <cmath>
#include <span>
#include <stdexcept>

#include "numerics/filter/row_filter.hpp"

namespace softcheck::proptests {
namespace {

using numerics::FilterStatistics;

// numerics/filter/row_filter.hpp certifies the values to about 2^-47: beside any published tolerance they are exact.
std::vector<double> softmax_of(std::span<const double> logits, const FilterStatistics& statistics) {
  std::vector<double> values;
  for (const auto& [lower, upper] : numerics::filter_softmax(logits, statistics)) {
    values.push_back(lower + (upper - lower) / 2);
  }
  return values;
}

std::vector<double> log_softmax_of(std::span<const double> logits, const FilterStatistics& statistics) {
  std::vector<double> values;
  for (const double x : logits) {
    values.push_back((x - statistics.maximum) / statistics.theta - std::log1p(statistics.sum_minus_one.value));
  }
  return values;
}

std::vector<double> values_of(const LogitMatrix& matrix, std::span<const double> logits) {
  const FilterStatistics statistics = numerics::filter_row(logits, matrix.theta);
  if (statistics.visible == 0) throw std::invalid_argument("softmax_case: need a visible logit in every row");
  if (matrix.op == "softmax") return softmax_of(logits, statistics);
  if (matrix.op == "log_softmax") return log_softmax_of(logits, statistics);
  if (matrix.op == "logsumexp") return {statistics.maximum / matrix.theta + std::log1p(statistics.sum_minus_one.value)};
  throw std::invalid_argument("softmax_case: need softmax, log_softmax or logsumexp, got '" + matrix.op + "'");
}

TensorPlace place_of(const LogitMatrix& matrix, std::int64_t row_stride) {
  TensorPlace place;
  place.format = matrix.format;
  place.shape = {matrix.rows, matrix.columns};
  if (row_stride > matrix.columns) place.strides = {row_stride, 1};
  // Where an ordinary allocation goes on, with other data: a stray read is not a crash.
  place.against_the_end = false;
  return place;
}

}  // namespace

std::int64_t rows_taken(std::int64_t published, std::int64_t columns) {
  return std::min(published, std::max<std::int64_t>(2, (std::int64_t{1} << 16) / columns));
}

CriterionCase softmax_case(const LogitMatrix& matrix, const LogitSource& logit, std::vector<Comparison> comparisons) {
  CriterionCase result;
  const auto columns = static_cast<std::size_t>(matrix.columns);
  InputTensor logits{place_of(matrix, matrix.input_stride), {}};
  logits.values.reserve(static_cast<std::size_t>(matrix.rows) * columns);
  result.expected.reserve(logits.values.capacity());
  for (std::int64_t row = 0; row < matrix.rows; ++row) {
    for (std::int64_t column = 0; column < matrix.columns; ++column) {
      logits.values.push_back(numerics::round_to(matrix.format, logit(row, column)));
    }
    for (const double exact : values_of(matrix, std::span<const double>(logits.values).last(columns))) {
      result.expected.push_back(numerics::round_to(matrix.format, exact));
    }
  }
  TensorPlace output = place_of(matrix, matrix.output_stride);
  if (matrix.op == "logsumexp") output.shape.pop_back();
  result.row_length = result.expected.size() / static_cast<std::size_t>(matrix.rows);
  result.call.inputs.push_back(std::move(logits));
  result.call.outputs.push_back({std::move(output), {}});
  result.call.theta = matrix.theta;
  result.comparisons = std::move(comparisons);
  return result;
}

}  // namespace softcheck::proptests
