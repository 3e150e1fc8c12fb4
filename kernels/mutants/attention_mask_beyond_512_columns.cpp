// C10: the mask of a row is kept in 512 bytes; later keys are visible.
#include "kernels/mutants/attention_places.hpp"

using namespace softcheck::kernels::mutants::attention;

SOFTCHECK_MUTANT mutant_attention_mask_beyond_512_columns(const softcheck_call* call) {
  return attend_spoiled(call, []<class Real>(const Attention& a, const Place&, Row<Real>& row) {
    if (a.causal) return;
    for (std::size_t j = 512; j < row.items(); ++j) row.visible[j] = 1;
  });
}
