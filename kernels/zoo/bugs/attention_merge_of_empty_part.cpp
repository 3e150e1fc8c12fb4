// C2, FlashInfer #4051: a merge with a part that saw no key takes (-inf) - (-inf) for a difference of maxima.
#include <algorithm>
#include <cmath>

#include "kernels/zoo/attention_states.hpp"

using namespace softcheck::kernels::zoo::attention;

SOFTCHECK_MUTANT mutant_attention_merge_of_empty_part(const softcheck_call* call) {
  return attend(call, []<class Real>(Row<Real>& row) {
    const std::size_t n = row.items();
    State<Real> all(row.out.size());
    for (std::size_t k = 0; k < 4; ++k) {
      State<Real> part = online(row, k * n / 4, (k + 1) * n / 4);
      const Real m = std::max(all.maximum, part.maximum);
      all.weights *= std::exp(all.maximum - m);  // NaN while neither has a key
      for (Real& value : all.values) value *= std::exp(all.maximum - m);
      all.deviations =
          all.weights == 0 ? 0 : std::exp(all.maximum - m) * all.deviations + (m - all.maximum) * all.weights;
      all.maximum = m;
      all = merged(all, part);
    }
    finish(row, all);
  });
}
