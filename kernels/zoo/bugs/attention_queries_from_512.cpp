// C6: a grid of 512 blocks of queries; queries from 512 on are those from 0 on.
#include "kernels/zoo/attention_places.hpp"

using namespace softcheck::kernels::zoo::attention;

SOFTCHECK_MUTANT mutant_attention_queries_from_512(const softcheck_call* call) {
  return attend_changed_rows(call, []<class Real>(const Attention& a, const Place& at, Row<Real>& row) {
    if (at.i >= 512) take_query_of(a, {at.b, at.h, at.i - 512}, row);
  });
}
