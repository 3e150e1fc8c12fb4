// C6: the number of a batch is held in two bits.
#include "kernels/zoo/attention_places.hpp"

using namespace softcheck::kernels::zoo::attention;

SOFTCHECK_MUTANT mutant_attention_batch_in_two_bits(const softcheck_call* call) {
  return attend_changed_rows(call, []<class Real>(const Attention& a, const Place& at, Row<Real>& row) {
    take_query_of(a, {at.b & 3, at.h, at.i}, row);
  });
}
