// C5: beyond 128 elements the dot product takes 32 at a time and leaves out the rest.
#include <algorithm>

#include "kernels/zoo/attention_places.hpp"

using namespace softcheck::kernels::zoo::attention;

SOFTCHECK_MUTANT mutant_attention_dimension_tail_beyond_128(const softcheck_call* call) {
  return attend_changed_rows(call, []<class Real>(const Attention&, const Place&, Row<Real>& row) {
    const std::size_t d = row.query.size();
    if (d > 129) std::fill(row.query.end() - static_cast<std::ptrdiff_t>(d % 32), row.query.end(), Real(0));
  });
}
