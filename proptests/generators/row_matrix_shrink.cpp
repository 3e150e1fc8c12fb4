#include <algorithm>
#include <cmath>
#include <memory>
#include <numeric>
#include <optional>

#include "proptests/generators/case_text.hpp"
#include "proptests/generators/lazy_shrinks.hpp"
#include "proptests/generators/row_matrix.hpp"

namespace softcheck::proptests {
namespace {

/// One way to a simpler matrix. Each lowers (rows, layouts and mask, columns, complexity of the numbers) in this order,
/// so that no chain of shrinks is endless.
enum class MatrixWay {
  unit_theta,
  drop_rows,     // size rows from first on
  plain_in,      // compact
  plain_out,     //
  plain_mask,    //
  no_mask,       // -inf logits instead
  all_by_mask,   // mixed to tensor
  drop_columns,  // size columns from first on
  round_all,     // to size bits
  shift_rows,    // the maximum of every row to 0
  simplify       // the number no. first takes its simpler number no. size
};

struct MatrixStep {
  MatrixWay way;
  std::size_t first = 0;
  std::size_t size = 0;
};

// Beyond this single numbers are not looked at: columns go first.
constexpr std::size_t few_numbers = 64;

void add_halves(std::vector<MatrixStep>& steps, MatrixWay way, std::size_t count) {
  for (std::size_t size = (count + 1) / 2; size > 0 && count > 1; size /= 2) {
    for (std::size_t first = 0; first < count; first += size) steps.push_back({way, first, size});
  }
}

std::vector<MatrixStep> steps_of(const RowMatrixCase& matrix) {
  std::vector<MatrixStep> steps{{MatrixWay::unit_theta}};
  add_halves(steps, MatrixWay::drop_rows, matrix.rows.size());
  for (const MatrixWay way :
       {MatrixWay::plain_in, MatrixWay::plain_out, MatrixWay::plain_mask, MatrixWay::no_mask, MatrixWay::all_by_mask}) {
    steps.push_back({way});
  }
  add_halves(steps, MatrixWay::drop_columns, matrix.columns);
  steps.push_back({MatrixWay::shift_rows});
  for (std::size_t bits : {1, 2, 4, 8, 16, 32}) steps.push_back({MatrixWay::round_all, 0, bits});
  if (size_of(matrix) > few_numbers) return steps;
  for (std::size_t r = 0; r < matrix.rows.size(); ++r) {
    const std::vector<double> logits = matrix.rows[r].expand();
    for (std::size_t i = 0; i < logits.size(); ++i) {
      const std::size_t count = simpler_numbers(logits[i]).size();
      for (std::size_t k = 0; k < count; ++k) steps.push_back({MatrixWay::simplify, r * logits.size() + i, k});
    }
  }
  return steps;
}

template <class Change>
bool change_rows(RowMatrixCase& matrix, Change change) {
  bool simpler = false;
  for (RunLengthRow& row : matrix.rows) {
    std::vector<Run> runs = row.runs();
    const double top = row.maximum();
    for (Run& run : runs) {
      if (!std::isfinite(run.value)) continue;
      const double value = numerics::round_to(matrix.format, change(run.value, top));
      if (!std::isfinite(value) || complexity(value) > complexity(run.value)) return false;
      simpler |= complexity(value) < complexity(run.value);
      run.value = value;
    }
    row = RunLengthRow(std::move(runs));
  }
  return simpler;
}

bool drop_columns(RowMatrixCase& matrix, std::size_t first, std::size_t size) {
  const auto begin = static_cast<std::ptrdiff_t>(first);
  const auto end = static_cast<std::ptrdiff_t>(std::min<std::size_t>(first + size, matrix.columns));
  for (RunLengthRow& row : matrix.rows) {
    std::vector<double> logits = row.expand();
    logits.erase(logits.begin() + begin, logits.begin() + end);
    row = RunLengthRow::of(logits);
  }
  matrix.columns -= static_cast<std::uint64_t>(end - begin);
  return true;
}

bool simplify(RowMatrixCase& matrix, std::size_t place, std::size_t which) {
  RunLengthRow& row = matrix.rows[place / matrix.columns];
  std::vector<double> logits = row.expand();
  double& value = logits[place % matrix.columns];
  const int before = complexity(value);
  value = numerics::round_to(matrix.format, simpler_numbers(value)[which]);
  if (!std::isfinite(value) || complexity(value) >= before) return false;
  row = RunLengthRow::of(logits);
  return true;
}

bool make_plain(MatrixLayout& layout) {
  const bool changes = layout != MatrixLayout{};
  layout = {};
  return changes;
}

bool take_step(const MatrixStep& step, RowMatrixCase& matrix) {
  switch (step.way) {
    case MatrixWay::unit_theta:
      return std::exchange(matrix.theta, 1) != 1;
    case MatrixWay::drop_rows: {
      const auto begin = matrix.rows.begin() + static_cast<std::ptrdiff_t>(step.first);
      matrix.rows.erase(begin, matrix.rows.begin() +
                                   static_cast<std::ptrdiff_t>(std::min(step.first + step.size, matrix.rows.size())));
      return true;
    }
    case MatrixWay::plain_in:
      return make_plain(matrix.in);
    case MatrixWay::plain_out:
      return make_plain(matrix.out);
    case MatrixWay::plain_mask:
      return make_plain(matrix.visible);
    case MatrixWay::no_mask:
      return std::exchange(matrix.mask, MaskUse::none) != MaskUse::none;
    case MatrixWay::all_by_mask:
      return std::exchange(matrix.mask, MaskUse::tensor) == MaskUse::mixed;
    case MatrixWay::drop_columns:
      return drop_columns(matrix, step.first, step.size);
    case MatrixWay::round_all:
      return change_rows(matrix,
                         [bits = static_cast<int>(step.size)](double x, double) { return round_to_bits(x, bits); });
    case MatrixWay::shift_rows:
      return change_rows(matrix, [](double x, double top) { return x - top; });
    case MatrixWay::simplify:
      return simplify(matrix, step.first, step.size);
  }
  return false;
}

}  // namespace

rc::Seq<RowMatrixCase> shrink_row_matrix(const RowMatrixCase& matrix, const RowMatrixOptions& options) {
  const auto steps = std::make_shared<const std::vector<MatrixStep>>(steps_of(matrix));
  return lazy_shrinks(matrix, steps->size(), [steps, options](const RowMatrixCase& from, std::size_t k) {
    std::optional<RowMatrixCase> result = from;
    if (!take_step((*steps)[k], *result) || !admits(options, *result)) result.reset();
    return result;
  });
}

}  // namespace softcheck::proptests
