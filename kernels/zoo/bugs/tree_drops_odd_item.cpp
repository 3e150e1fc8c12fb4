// C9, rvllm PR #1: a tree halves its width at each level; at an odd one the last sum is lost.
#include <cstddef>
#include <vector>

#include "kernels/zoo/reference_rows.hpp"

using namespace softcheck::kernels::zoo;

SOFTCHECK_MUTANT mutant_tree_drops_odd_item(const softcheck_call* call) {
  return each_row(call, []<class Real>(RowOf<Real>& row) {
    weights(row, maximum(row.logits), row.out);
    std::vector<Real> partial = row.out;
    for (std::size_t width = partial.size(); width > 1; width /= 2) {
      for (std::size_t i = 0; i < width / 2; ++i) {
        partial[i] += partial[i + width / 2];
      }
    }
    divide(row.out, partial.empty() ? Real(1) : partial[0]);
  });
}
