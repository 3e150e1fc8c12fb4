// C4: what lies beyond the largest number of e5m2 becomes NaN, as in e4m3, which has no infinity.
#include "kernels/zoo/eight_bit_rows.hpp"

using namespace softcheck::kernels::zoo;

namespace {

struct OverflowIsNan : EightBits {
  std::uint8_t narrowed(float value) const {
    return std::fabs(value) >= 61440 ? static_cast<std::uint8_t>(sign_bit(value) | 0x7f) : EightBits::narrowed(value);
  }
};

}  // namespace

SOFTCHECK_MUTANT mutant_e5m2_overflow_is_nan(const softcheck_call* call) {
  return each_row_of_eight_bits<OverflowIsNan>(call, [](Row& row) { log_softmax(row); });
}
