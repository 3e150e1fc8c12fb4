// C10, the class of KernelBench #82: from ten rows of 1024 logits or more on a plain softmax takes over.
#include <algorithm>
#include <vector>

#include "kernels/zoo/numbered_rows.hpp"

using namespace softcheck::kernels::zoo;

SOFTCHECK_MUTANT mutant_adaptive_plain_in_long_rows_of_a_batch(const softcheck_call* call) {
  return call->theta != 1
             ? 1
             : each_numbered_row(call, []<class Real>(const Matrices& from, std::int64_t /*number*/, RowOf<Real>& row) {
                 RowOf<double> wide{{row.logits.begin(), row.logits.end()}, 1, std::vector<double>(row.out.size())};
                 if (from.logits.rows >= 10 && from.logits.columns >= 1024) {
                   softmax(wide);
                 } else {
                   adaptive_softmax(wide);
                 }
                 std::copy(wide.out.begin(), wide.out.end(), row.out.begin());
               });
}
