// C11, dos-kernel #107 (KernelBench): f64 logits are narrowed, and the row is computed in f32.
#include <cmath>
#include <cstddef>

#include "kernels/zoo/reference_rows.hpp"

using namespace softcheck::kernels::zoo;

SOFTCHECK_MUTANT mutant_f64_computed_in_f32(const softcheck_call* call) {
  return each_row(call, []<class Real>(RowOf<Real>& row) {
    const Real m = maximum(row.logits);
    float sum = 0;
    for (std::size_t i = 0; i < row.out.size(); ++i) {
      const float w = std::exp(static_cast<float>((row.logits[i] - m) / row.theta));
      row.out[i] = w;
      sum += w;
    }
    divide<Real>(row.out, sum);
  });
}
