// Correct: eight sums, merged pairwise: sum=lanes:8.
#include <array>
#include <cstddef>

#include "kernels/zoo/reference_rows.hpp"

using namespace softcheck::kernels::zoo;

SOFTCHECK_MUTANT correct_lanes(const softcheck_call* call) {
  return each_row(call, []<class Real>(RowOf<Real>& row) {
    weights(row, maximum(row.logits), row.out);
    std::array<Real, 8> lane{};
    for (std::size_t i = 0; i < row.out.size(); ++i) {
      lane[i % 8] += row.out[i];
    }
    for (std::size_t width = 4; width > 0; width /= 2) {
      for (std::size_t i = 0; i < width; ++i) {
        lane[i] += lane[i + width];
      }
    }
    divide(row.out, lane[0]);
  });
}
