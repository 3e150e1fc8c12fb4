// Correct: the sum is a tree of halves, contract sum=tree.
#include <cstddef>

#include "kernels/zoo/reference_rows.hpp"

using namespace softcheck::kernels::zoo;

namespace {
template <class Real>
Real pairwise(const Real* w, std::size_t n) {
  if (n <= 1) {
    return n == 1 ? w[0] : 0;
  }
  std::size_t half = 1;  // the largest power of two below n: the height is ceil(log2 n)
  while (half * 2 < n) {
    half *= 2;
  }
  return pairwise(w, half) + pairwise(w + half, n - half);
}
}  // namespace

SOFTCHECK_MUTANT correct_pairwise(const softcheck_call* call) {
  return each_row(call, [](auto& row) {
    weights(row, maximum(row.logits), row.out);
    divide(row.out, pairwise(row.out.data(), row.out.size()));
  });
}
