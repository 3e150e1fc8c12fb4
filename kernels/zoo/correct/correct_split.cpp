// Correct: (m, S, T) of every 16 logits, each relative to the largest m by a (T + d S), then added pairwise: what
// split-KV and ranks do; sum=blocks:16.
#include <cmath>
#include <cstddef>
#include <vector>

#include "kernels/zoo/reference_rows.hpp"

using namespace softcheck::kernels::zoo;

SOFTCHECK_MUTANT correct_split(const softcheck_call* call) {
  return each_row(call, []<class Real>(RowOf<Real>& row) {
    row.out[0] = entropy_or(row, [](const RowOf<Real>& finite) {
      const Real m = maximum(finite.logits);
      std::vector<Sums<Real>> parts = parts_of(finite);
      for (Sums<Real>& part : parts) {
        const Real d = (m - part.maximum) * reciprocal_theta(finite);
        const Real a = std::exp(-d);
        part = {m, a * part.weights, a > 0 ? a * (part.deviations + d * part.weights) : 0};
      }
      for (std::size_t step = 1; step < parts.size(); step *= 2) {
        for (std::size_t i = 0; i + step < parts.size(); i += 2 * step) {
          parts[i].weights += parts[i + step].weights;
          parts[i].deviations += parts[i + step].deviations;
        }
      }
      return entropy_of(parts.front());
    });
  });
}
