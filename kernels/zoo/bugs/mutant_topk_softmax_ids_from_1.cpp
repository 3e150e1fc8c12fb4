// Bug: ids count from 1.
#include "kernels/zoo/topk_rows.hpp"

using namespace softcheck::kernels::zoo;

SOFTCHECK_MUTANT mutant_topk_softmax_ids_from_1(const softcheck_call* call) {
  return each_topk_row(call, [](auto& row) {
    row.run();
    for (auto& id : row.ids) ++id;
  });
}
