// Bug: renormalize is not read.
#include "kernels/zoo/topk_rows.hpp"

using namespace softcheck::kernels::zoo;

SOFTCHECK_MUTANT mutant_topk_softmax_never_renormalises(const softcheck_call* call) {
  return each_topk_row(call, [](auto& row) {
    row.renormalize = false;
    row.run();
  });
}
