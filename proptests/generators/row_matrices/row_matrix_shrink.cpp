#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <memory>
#include <optional>

#include "numerics/formats/special_values.hpp"
#include "proptests/generators/drawing/lazy_shrinks.hpp"
#include "proptests/generators/row_matrices/row_matrix.hpp"
#include "proptests/generators/rows/row_families.hpp"
#include "proptests/generators/text/case_text.hpp"

namespace softcheck::proptests {
namespace {

/// One step to a simpler matrix; false if it is none. Each lowers (rows, layouts and mask, columns, complexity of the
/// numbers) lexicographically, so every chain of shrinks is finite.
struct MatrixStep {
  std::function<bool(RowMatrixCase&)> take;
  bool drops_columns = false;
};

// Above this, drop columns before simplifying single numbers.
constexpr std::size_t few_numbers = 64;

// Longer rows with other inputs first try pairs: dropping columns one by one would exceed the number of attempts. Rows
// of logits alone drop columns first, which also shows the lengths that the kernel refuses.
constexpr std::uint64_t many_logits = 8;
constexpr std::size_t early_pairs = 3;

template <class Change>
bool change_rows(RowMatrixCase& matrix, Change change) {
  bool simpler = false, possible = true;
  matrix.rows.replace_each([&](const RunLengthRow& row) {
    std::vector<Run> runs = row.runs();
    const double top = row.maximum();
    for (Run& run : runs) {
      if (!std::isfinite(run.value)) continue;
      const double value = numerics::round_to(matrix.format, change(run.value, top));
      if (!std::isfinite(value) || complexity(value) > complexity(run.value)) {
        possible = false;
        continue;
      }
      simpler |= complexity(value) < complexity(run.value);
      run.value = value;
    }
    return RunLengthRow(std::move(runs));
  });
  return possible && simpler;
}

bool drop_columns(RowMatrixCase& matrix, std::size_t first, std::size_t size) {
  const std::size_t last = std::min<std::size_t>(first + size, matrix.columns);
  matrix.rows.replace_each([&](const RunLengthRow& row) {
    std::vector<double> logits = row.expand();
    logits.erase(logits.begin() + static_cast<std::ptrdiff_t>(first),
                 logits.begin() + static_cast<std::ptrdiff_t>(last));
    return RunLengthRow::of(logits);
  });
  matrix.columns -= last - first;
  std::erase_if(matrix.specials, [&](const SpecialLogit& one) { return one.item >= first && one.item < last; });
  for (SpecialLogit& one : matrix.specials) one.item -= one.item >= last ? last - first : 0;
  return true;
}

bool take_pairs(RowMatrixCase& matrix, std::size_t which, std::size_t auxiliary) {
  const std::array<double, 2> pair = pairs_for(matrix.rows[0], matrix.format)[which];
  matrix.rows.replace_each([&](const RunLengthRow&) { return RunLengthRow::of(pair); });
  matrix.columns = pair.size();
  matrix.auxiliary = auxiliaries_of_pairs(matrix.auxiliary)[auxiliary];
  std::erase_if(matrix.specials, [&](const SpecialLogit& one) { return one.item >= matrix.columns; });
  return true;
}

bool fewer_rows(RowMatrixCase& matrix, std::size_t rows) {
  matrix.rows = RowCycle(matrix.rows.cycle(), rows);
  std::erase_if(matrix.specials, [&](const SpecialLogit& one) { return one.row >= rows; });
  return true;
}

/// Rounds down to a length of the domain, since in a domain of few lengths hardly any step reaches one.
void fit_rows(const Domain& domain, RowMatrixCase& matrix) {
  const std::optional<std::uint64_t> rows = domain.length("rows").at_most(matrix.rows.size());
  if (rows && *rows < matrix.rows.size()) fewer_rows(matrix, *rows);
}

void fit_columns(const Domain& domain, RowMatrixCase& matrix) {
  const std::uint64_t columns = domain.length("n").nearest(matrix.columns);
  if (columns == matrix.columns) return;
  matrix.rows.replace_each([&](const RunLengthRow& row) { return resized(row, columns); });
  std::erase_if(matrix.specials, [&](const SpecialLogit& one) { return one.item >= columns; });
  matrix.columns = columns;
}

bool drop_rows(RowMatrixCase& matrix, std::size_t first, std::size_t size) {
  std::vector<RunLengthRow> cycle = matrix.rows.cycle();
  const std::size_t last = std::min(first + size, cycle.size()), dropped = last - first;
  cycle.erase(cycle.begin() + static_cast<std::ptrdiff_t>(first), cycle.begin() + static_cast<std::ptrdiff_t>(last));
  if (matrix.rows.repeats()) {
    // Keep the number of rows, so that NaNs keep their places.
    const std::size_t rows = matrix.rows.size();
    matrix.rows = RowCycle(std::move(cycle), rows);
    return true;
  }
  matrix.rows = RowCycle(std::move(cycle));
  std::erase_if(matrix.specials, [&](const SpecialLogit& one) { return one.row >= first && one.row < last; });
  for (SpecialLogit& one : matrix.specials) one.row -= one.row >= last ? dropped : 0;
  return true;
}

bool quiet_nans(RowMatrixCase& matrix) {
  const std::uint64_t plain = numerics::encode(matrix.format, numerics::nan);
  bool changes = false;
  for (SpecialLogit& one : matrix.specials) {
    if (!is_infinite(one, matrix.format)) changes |= std::exchange(one.bits, plain) != plain;
  }
  return changes;
}

bool simplify(RowMatrixCase& matrix, std::size_t r, std::size_t item, std::size_t which) {
  std::vector<double> logits = matrix.rows[r].expand();
  double& value = logits[item];
  const int before = complexity(value);
  value = numerics::round_to(matrix.format, simpler_numbers(value)[which]);
  if (!std::isfinite(value) || complexity(value) >= before) return false;
  matrix.rows.replace(r, RunLengthRow::of(logits));
  return true;
}

// -inf logits instead.
bool no_mask(RowMatrixCase& matrix) {
  if (matrix.mask != MaskUse::none) matrix.visible = {};
  return std::exchange(matrix.mask, MaskUse::none) != MaskUse::none;
}

// Drops [first, first + size) of `count` by halves, quarters, ... down to the smallest size.
template <class Drop>
void add_halves(std::vector<MatrixStep>& steps, std::size_t count, Drop drop, bool drops_columns = false,
                std::size_t smallest = 1) {
  for (std::size_t size = (count + 1) / 2; size >= smallest && size > 0 && count > 1; size /= 2) {
    for (std::size_t first = 0; first < count; first += size) {
      steps.push_back({[=](RowMatrixCase& to) { return drop(to, first, size); }, drops_columns});
    }
  }
}

/// Drops columns by halves; with listed lengths, to each shorter one from the front, the back or the middle, because
/// other steps would almost never reach a listed length, and steps of long rows are expensive.
void add_columns(std::vector<MatrixStep>& steps, const RowMatrixCase& matrix, const LengthRange& domain) {
  // A call of many logits costs as much as a thousand others: only large parts.
  constexpr std::uint64_t many = std::uint64_t{1} << 20, parts = 8;
  const std::uint64_t columns = matrix.columns, rows = matrix.rows.size();
  if (domain.listed.empty()) {
    const bool expensive = rows > columns && rows * columns >= many;
    return add_halves(steps, columns, drop_columns, true, expensive ? columns / parts : 1);
  }
  for (const std::uint64_t length : domain.listed) {
    if (length >= columns) return;
    for (const std::uint64_t first : {std::uint64_t{0}, length, length / 2}) {
      steps.push_back({[=](RowMatrixCase& to) { return drop_columns(to, first, columns - length); }, true});
    }
  }
}

// Single numbers, if there are few.
void add_numbers(std::vector<MatrixStep>& steps, const RowMatrixCase& matrix) {
  if (matrix.rows.cycle().size() * matrix.columns > few_numbers) return;
  for (std::size_t r = 0; r < matrix.rows.cycle().size(); ++r) {
    const std::vector<double> logits = matrix.rows[r].expand();
    for (std::size_t i = 0; i < logits.size(); ++i) {
      const std::size_t count = simpler_numbers(logits[i]).size();
      for (std::size_t k = 0; k < count; ++k) {
        steps.push_back({[=](RowMatrixCase& to) { return simplify(to, r, i, k); }});
      }
    }
  }
}

std::vector<MatrixStep> steps_of(const RowMatrixCase& matrix, const Domain& domain) {
  std::vector<MatrixStep> steps{{[](RowMatrixCase& to) { return std::exchange(to.theta, 1) != 1; }}};
  const std::size_t rows = matrix.rows.size();
  if (matrix.rows.repeats()) {
    const auto add = [&](std::size_t fewer) {
      steps.push_back({[=](RowMatrixCase& to) { return fewer_rows(to, fewer); }});
    };
    add(matrix.rows.cycle().size());
    // Halves, quarters, ... single rows: finds the smallest failing number by bisection.
    for (std::size_t less = rows / 2; less > 0; less /= 2) add(rows - less);
  }
  add_halves(steps, matrix.rows.cycle().size(), drop_rows);
  for (std::size_t k = 0; k < matrix.specials.size(); ++k) {
    steps.push_back({[=](RowMatrixCase& to) {
      to.specials.erase(to.specials.begin() + static_cast<std::ptrdiff_t>(k));
      return true;
    }});
  }
  for (std::size_t k = 0; k < matrix.specials.size(); ++k) {
    for (std::uint64_t less = matrix.specials[k].row; less > 0; less /= 2) {
      const std::uint64_t row = matrix.specials[k].row - less;
      steps.push_back({[=](RowMatrixCase& to) {
        to.specials[k].row = row;
        return true;
      }});
    }
  }
  if (!matrix.specials.empty()) steps.push_back({quiet_nans});
  for (MatrixLayout RowMatrixCase::*layout : {&RowMatrixCase::in, &RowMatrixCase::out, &RowMatrixCase::visible}) {
    steps.push_back({[=](RowMatrixCase& to) { return std::exchange(to.*layout, {}) != MatrixLayout{}; }});
  }
  steps.push_back({no_mask});
  steps.push_back({[](RowMatrixCase& to) { return std::exchange(to.mask, MaskUse::tensor) == MaskUse::mixed; }});
  const std::size_t pairs = matrix.rows.cycle().empty() ? 0 : pairs_for(matrix.rows[0], matrix.format).size();
  const bool is_long = matrix.auxiliary != 0 && matrix.columns > many_logits;
  const auto add_pair = [&](std::size_t which, std::size_t auxiliary) {
    steps.push_back({[=](RowMatrixCase& to) { return take_pairs(to, which, auxiliary); }, true});
  };
  for (std::size_t i = 0; is_long && i < std::min(early_pairs, pairs); ++i) add_pair(i, 0);
  add_columns(steps, matrix, domain.length("n"));
  for (const std::uint64_t less : simpler_auxiliaries(matrix.auxiliary)) {
    steps.push_back({[=](RowMatrixCase& to) {
      to.auxiliary = less;
      return true;
    }});
  }
  steps.push_back({[](RowMatrixCase& to) { return change_rows(to, [](double x, double top) { return x - top; }); }});
  for (const int bits : {1, 2, 4, 8, 16, 32}) {
    steps.push_back(
        {[=](RowMatrixCase& to) { return change_rows(to, [=](double x, double) { return round_to_bits(x, bits); }); }});
  }
  for (const double theta : simpler_numbers(matrix.theta)) {
    steps.push_back({[=](RowMatrixCase& to) { return (to.theta = theta) > 0; }});
  }
  add_numbers(steps, matrix);
  if (matrix.columns <= 2) return steps;
  for (std::size_t k = 0; k < auxiliaries_of_pairs(matrix.auxiliary).size(); ++k) {
    for (std::size_t i = 0; i < pairs; ++i) add_pair(i, k);
  }
  return steps;
}

}  // namespace

rc::Seq<RowMatrixCase> shrink_row_matrix(const RowMatrixCase& matrix, const RowMatrixOptions& options) {
  const auto steps = std::make_shared<const std::vector<MatrixStep>>(steps_of(matrix, options.rows.domain));
  return lazy_shrinks(matrix, steps->size(), [steps, options](const RowMatrixCase& from, std::size_t k) {
    std::optional<RowMatrixCase> result = from;
    const MatrixStep& step = (*steps)[k];
    const bool taken = step.take(*result);
    if (taken && result->rows.size() < from.rows.size()) fit_rows(options.rows.domain, *result);
    if (taken && result->columns < from.columns) fit_columns(options.rows.domain, *result);
    const bool simpler = taken && !(step.drops_columns && result->columns >= from.columns);
    if (!simpler || !admits(options, *result)) result.reset();
    return result;
  });
}

}  // namespace softcheck::proptests
