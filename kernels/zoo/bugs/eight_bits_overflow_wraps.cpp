// C4: what lies beyond the largest number is not looked for: its exponent loses the bits that the byte lacks.
#include "kernels/zoo/eight_bit_rows.hpp"

using namespace softcheck::kernels::zoo;

namespace {

struct Wrapping : EightBits {
  std::uint8_t narrowed(float value) const {
    const float from = is_e4m3 ? 464 : 61440, past = is_e4m3 ? 512 : 65536;
    float rest = std::fabs(value);
    if (!(rest >= from) || std::isinf(rest)) return EightBits::narrowed(value);
    while (rest >= past) rest /= past;
    return static_cast<std::uint8_t>(sign_bit(value) | (EightBits::narrowed(rest) & 0x7f));
  }
};

}  // namespace

SOFTCHECK_MUTANT mutant_eight_bits_overflow_wraps(const softcheck_call* call) {
  return each_row_of_eight_bits<Wrapping>(call, [](Row& row) { log_softmax(row); });
}
