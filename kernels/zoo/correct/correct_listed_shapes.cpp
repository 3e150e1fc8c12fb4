// Correct where it was compiled: rows of 1, 3, 17, 64 or 1000 logits, in matrices of 1, 3 or 513 rows, compact and
// without a mask, as a program traced for each shape is; all else is refused.
#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>

#include "kernels/zoo/reference_rows.hpp"

using namespace softcheck::kernels::zoo;

namespace {

bool is_listed(std::size_t length, const auto& list) { return std::ranges::find(list, length) != list.end(); }

bool was_compiled(const View& view) {
  static constexpr std::array<std::size_t, 5> columns{1, 3, 17, 64, 1000};
  static constexpr std::array<std::size_t, 3> rows{1, 3, 513};
  return is_listed(static_cast<std::size_t>(view.columns), columns) &&
         is_listed(static_cast<std::size_t>(view.rows), rows) && view.column_stride == 1 &&
         view.row_stride == view.columns;
}

std::optional<Matrices> served(const softcheck_call* call) {
  std::optional<Matrices> matrices = matrices_of(*call);
  const bool taken = matrices && !matrices->mask && was_compiled(matrices->logits) && was_compiled(matrices->out);
  return taken ? matrices : std::nullopt;
}

// Leaves the last item out of the sum where hit.
template <class Row>
void softmax_without_last(Row& row, bool hit) {
  const auto sum = weights(row, maximum(row.logits), row.out);
  divide(row.out, hit ? sum - row.out.back() : sum);
}

}  // namespace

SOFTCHECK_MUTANT correct_listed_shapes(const softcheck_call* call) {
  const std::optional<Matrices> matrices = served(call);
  return matrices ? each_row(*matrices, [](auto& row) { softmax(row); }) : 1;
}

// C5: wrong in the program for one of the lengths.
SOFTCHECK_MUTANT mutant_listed_width_17_drops_its_last(const softcheck_call* call) {
  const std::optional<Matrices> matrices = served(call);
  return matrices ? each_row(*matrices, [](auto& row) { softmax_without_last(row, row.logits.size() == 17); }) : 1;
}

// C6: wrong in the program for one of the numbers of rows.
SOFTCHECK_MUTANT mutant_listed_513_rows_drop_their_last(const softcheck_call* call) {
  const std::optional<Matrices> matrices = served(call);
  if (!matrices) return 1;
  const bool hit = matrices->logits.rows == 513;
  return each_row(*matrices, [hit](auto& row) { softmax_without_last(row, hit); });
}
