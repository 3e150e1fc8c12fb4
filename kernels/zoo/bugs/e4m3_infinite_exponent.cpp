// C12: the largest exponent of e4m3 is read as IEEE 754 has it, infinity and NaN: of the numbers from 256 on.
#include "kernels/zoo/eight_bit_rows.hpp"

using namespace softcheck::kernels::zoo;

namespace {

struct InfiniteExponent : EightBits {
  float widened(std::uint8_t bits) const {
    if ((bits & 0x78U) != 0x78U) return EightBits::widened(bits);
    if ((bits & 0x07U) != 0) return quiet_nan;
    return (bits & 0x80U) != 0 ? -infinity : infinity;
  }
};

}  // namespace

SOFTCHECK_MUTANT mutant_e4m3_infinite_exponent(const softcheck_call* call) {
  return each_row_of_eight_bits<InfiniteExponent>(call, [](Row& row) { softmax(row); });
}
