// C10: the mask is loaded for 64 queries; later ones use the rows of the first.
#include "kernels/zoo/attention_places.hpp"

using namespace softcheck::kernels::zoo::attention;

SOFTCHECK_MUTANT mutant_attention_mask_of_64_queries(const softcheck_call* call) {
  return attend_changed_rows(call, []<class Real>(const Attention& a, const Place& at, Row<Real>& row) {
    if (!a.masked || a.causal || at.i < 64) return;
    for (std::int64_t j = 0; j < a.keys; ++j) {
      row.visible[static_cast<std::size_t>(j)] =
          *a.mask.at(at.b, a.mask_head[static_cast<std::size_t>(at.h)], at.i % 64, j) != 0;
    }
  });
}
