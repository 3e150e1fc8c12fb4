// C6: the number of a key is held in twelve bits.
#include "kernels/zoo/attention_places.hpp"

using namespace softcheck::kernels::zoo::attention;

SOFTCHECK_MUTANT mutant_attention_key_in_twelve_bits(const softcheck_call* call) {
  return attend_changed_rows(call, []<class Real>(const Attention&, const Place&, Row<Real>& row) {
    take_keys_of(row, 4096, [](std::size_t j) { return j & 4095; });
  });
}
