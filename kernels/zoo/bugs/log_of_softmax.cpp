// C11, PyTorch #38839: log(softmax(x)): -inf where the coefficient underflows, no digits near 1.
#include <cmath>

#include "kernels/zoo/reference_rows.hpp"

using namespace softcheck::kernels::zoo;

SOFTCHECK_MUTANT mutant_log_of_softmax(const softcheck_call* call) {
  return each_row(call, [](Row& row) {
    softmax(row);
    for (float& p : row.out) {
      p = std::log(p);
    }
  });
}
