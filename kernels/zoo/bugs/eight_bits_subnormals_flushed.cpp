// C11: subnormal results are flushed to zero, in e4m3 all coefficients below 1/64.
#include "kernels/zoo/eight_bit_rows.hpp"

using namespace softcheck::kernels::zoo;

namespace {

struct Flushed : EightBits {
  std::uint8_t narrowed(float value) const {
    const float smallest_normal = is_e4m3 ? 0x1p-6F : 0x1p-14F;
    return std::fabs(value) < smallest_normal ? sign_bit(value) : EightBits::narrowed(value);
  }
};

}  // namespace

SOFTCHECK_MUTANT mutant_eight_bits_subnormals_flushed(const softcheck_call* call) {
  return each_row_of_eight_bits<Flushed>(call, [](Row& row) { softmax(row); });
}
