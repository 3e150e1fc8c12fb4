// Correct: an item is left out where the sum up to it, less its own coefficient, reaches top_p (vLLM, SGLang); the sum
// of the prefix divides.
#include "kernels/zoo/top_p_rows.hpp"

using namespace softcheck::kernels::zoo;

SOFTCHECK_MUTANT correct_top_p_softmax_exclusive(const softcheck_call* call) {
  return each_top_p_row(call, [](auto& row) {
    using Real = typename std::decay_t<decltype(row)>::Number;
    const std::vector<Real> p = row.softmax();
    Real up_to = 0, kept = 0;
    const Real largest = *std::max_element(p.begin(), p.end());
    for (const std::size_t i : row.descending(p)) {
      up_to += p[i];
      const bool enough = row.top_p != 0 && up_to - p[i] >= row.top_p;
      row.out[i] = enough || (row.min_p != 0 && p[i] < row.min_p * largest) ? 0 : p[i];
      kept += row.out[i];
    }
    for (Real& value : row.out) value /= kept;
  });
}
