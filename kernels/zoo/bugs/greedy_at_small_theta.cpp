// C10, google-deepmind/gemma PR #585 for #562: temperatures below 1e-6 count as 0, and the largest logit takes all,
// though others may be as large.
#include <cmath>
#include <cstddef>

#include "kernels/zoo/reference_rows.hpp"

using namespace softcheck::kernels::zoo;

SOFTCHECK_MUTANT mutant_greedy_at_small_theta(const softcheck_call* call) {
  return each_row(call, []<class Real>(RowOf<Real>& row) {
    softmax(row);
    if (row.theta < 1e-6) {
      std::size_t largest = 0;
      for (std::size_t i = 0; i < row.out.size(); ++i) {
        largest = row.out[i] > row.out[largest] ? i : largest;
      }
      for (std::size_t i = 0; i < row.out.size(); ++i) {
        row.out[i] = std::isnan(row.out[i]) ? row.out[i] : i == largest;
      }
    }
  });
}
