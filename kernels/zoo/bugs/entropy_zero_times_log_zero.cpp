// C13, PyTorch #40553: p ln p with p = 0 is 0 (-inf) = NaN.
#include <cmath>

#include "kernels/zoo/reference_rows.hpp"

using namespace softcheck::kernels::zoo;

SOFTCHECK_MUTANT mutant_entropy_zero_times_log_zero(const softcheck_call* call) {
  return each_row(call, [](Row& row) {
    row.out[0] = entropy_or(row, [](Row finite) {
      finite.out.resize(finite.logits.size());
      softmax(finite);
      float entropy = 0;
      for (const float p : finite.out) {
        entropy -= p * std::log(p);
      }
      return entropy;
    });
  });
}
