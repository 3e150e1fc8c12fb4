// C13, C10: in rows of more than 1100 logits the entropy that the temperature follows is that of all logits, masked
// ones too.
#include <algorithm>
#include <cmath>
#include <vector>

#include "kernels/zoo/numbered_rows.hpp"

using namespace softcheck::kernels::zoo;

SOFTCHECK_MUTANT mutant_adaptive_mask_unread_by_its_entropy_in_long_rows(const softcheck_call* call) {
  return call->theta != 1
             ? 1
             : each_numbered_row(call, []<class Real>(const Matrices& from, std::int64_t number, RowOf<Real>& row) {
                 Matrices unmasked = from;
                 if (from.logits.columns > 1100) {
                   unmasked.mask.reset();
                 }
                 const RowOf<double> measured = gather<double>(unmasked, number);
                 RowOf<double> wide{{row.logits.begin(), row.logits.end()}, 1, std::vector<double>(row.out.size())};
                 softmax_sharpened(wide, [&](const auto& sums) {
                   return beta_of(entropy_of(std::isfinite(maximum(measured.logits)) ? sums_of(measured) : sums));
                 });
                 std::copy(wide.out.begin(), wide.out.end(), row.out.begin());
               });
}
