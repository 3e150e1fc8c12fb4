// C16, LeetCUDA PR #419: all 32 partial sums are added, though a short row has written fewer; the others are of an
// earlier row.
#include <array>
#include <cstddef>
#include <numeric>

#include "kernels/zoo/reference_rows.hpp"

using namespace softcheck::kernels::zoo;

SOFTCHECK_MUTANT mutant_reads_stale_partials(const softcheck_call* call) {
  static std::array<double, 32> partial;
  return each_row(call, []<class Real>(RowOf<Real>& row) {
    weights(row, maximum(row.logits), row.out);
    for (std::size_t i = 0; i < row.out.size(); ++i) {
      partial[i % 32] = i < 32 ? row.out[i] : partial[i % 32] + row.out[i];
    }
    divide(row.out, static_cast<Real>(std::accumulate(partial.begin(), partial.end(), 0.0)));
  });
}
