// C11: logits are read with the exponent bias of e4m3fnuz or e5m2fnuz, 8 or 16: as half of what they are.
#include "kernels/zoo/eight_bit_rows.hpp"

using namespace softcheck::kernels::zoo;

namespace {

struct BiasOfFnuz : EightBits {
  float widened(std::uint8_t bits) const { return EightBits::widened(bits) / 2; }
};

}  // namespace

SOFTCHECK_MUTANT mutant_eight_bits_bias_of_fnuz(const softcheck_call* call) {
  return each_row_of_eight_bits<BiasOfFnuz>(call, [](Row& row) { softmax(row); });
}
