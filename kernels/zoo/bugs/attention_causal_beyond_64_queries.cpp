// C10: the diagonal of blocks of 64 queries is one too far from the second block on.
#include "kernels/zoo/attention_places.hpp"

using namespace softcheck::kernels::zoo::attention;

SOFTCHECK_MUTANT mutant_attention_causal_beyond_64_queries(const softcheck_call* call) {
  return attend_changed_rows(call, []<class Real>(const Attention& a, const Place& at, Row<Real>& row) {
    const std::int64_t next = at.i + a.diagonal + 1;
    if (a.causal && at.i >= 64 && next >= 0 && next < a.keys) row.visible[static_cast<std::size_t>(next)] = 1;
  });
}
