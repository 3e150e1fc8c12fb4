// C4: what rounds to the largest number becomes NaN, as what lies beyond it does.
#include "kernels/zoo/eight_bit_rows.hpp"

using namespace softcheck::kernels::zoo;

namespace {

struct OverflowsEarly : EightBits {
  std::uint8_t narrowed(float value) const {
    return std::fabs(value) >= 424 ? static_cast<std::uint8_t>(sign_bit(value) | 0x7f) : EightBits::narrowed(value);
  }
};

}  // namespace

SOFTCHECK_MUTANT mutant_e4m3_overflow_from_448(const softcheck_call* call) {
  return each_row_of_eight_bits<OverflowsEarly>(call, [](Row& row) { log_softmax(row); });
}
