// C11: subnormal logits are read as zero.
#include "kernels/zoo/eight_bit_rows.hpp"

using namespace softcheck::kernels::zoo;

namespace {

struct ReadAsZero : EightBits {
  float widened(std::uint8_t bits) const {
    const unsigned first_normal = is_e4m3 ? 0x08 : 0x04;
    return (bits & 0x7fU) < first_normal ? 0 : EightBits::widened(bits);
  }
};

}  // namespace

SOFTCHECK_MUTANT mutant_eight_bits_subnormals_read_as_zero(const softcheck_call* call) {
  return each_row_of_eight_bits<ReadAsZero>(call, [](Row& row) { softmax(row); });
}
