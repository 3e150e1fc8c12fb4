// C10, the class of gemma.cpp PR #981: a table of 512 temperatures; rows behind its end take that of its first row.
#include <algorithm>
#include <cmath>
#include <vector>

#include "kernels/zoo/numbered_rows.hpp"

using namespace softcheck::kernels::zoo;

SOFTCHECK_MUTANT mutant_adaptive_beta_of_row_0_from_row_512(const softcheck_call* call) {
  return call->theta != 1
             ? 1
             : each_numbered_row(call, []<class Real>(const Matrices& from, std::int64_t number, RowOf<Real>& row) {
                 const RowOf<double> measured = gather<double>(from, number < 512 ? number : 0);
                 RowOf<double> wide{{row.logits.begin(), row.logits.end()}, 1, std::vector<double>(row.out.size())};
                 softmax_sharpened(wide, [&](const auto& sums) {
                   return beta_of(entropy_of(std::isfinite(maximum(measured.logits)) ? sums_of(measured) : sums));
                 });
                 std::copy(wide.out.begin(), wide.out.end(), row.out.begin());
               });
}
