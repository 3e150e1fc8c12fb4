// Bug: in a row with a NaN no comparison holds, and the id stays at -1: what reads the expert by it reads outside.
#include "kernels/zoo/topk_rows.hpp"

using namespace softcheck::kernels::zoo;

SOFTCHECK_MUTANT mutant_topk_softmax_nan_has_no_id(const softcheck_call* call) {
  return each_topk_row(call, [](auto& row) {
    row.run();
    if (row.maximum() != row.maximum()) row.ids.assign(row.k(), -1);
  });
}
