// C12: NaN is written as 0x80, which it is in e4m3fnuz and e5m2fnuz: -0 in the formats of the OCP.
#include "kernels/zoo/eight_bit_rows.hpp"

using namespace softcheck::kernels::zoo;

namespace {

struct NanOfFnuz : EightBits {
  std::uint8_t narrowed(float value) const { return std::isnan(value) ? 0x80 : EightBits::narrowed(value); }
};

}  // namespace

SOFTCHECK_MUTANT mutant_eight_bits_nan_of_fnuz(const softcheck_call* call) {
  return each_row_of_eight_bits<NanOfFnuz>(call, [](Row& row) { softmax(row); });
}
