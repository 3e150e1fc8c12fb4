// C12: the clamp in front of the conversion makes the largest number of a NaN: fmin and fmax return their other
// argument.
#include "kernels/zoo/eight_bit_rows.hpp"

using namespace softcheck::kernels::zoo;

namespace {

struct Clamped : EightBits {
  std::uint8_t narrowed(float value) const {
    const float largest = is_e4m3 ? 448 : 57344;
    return EightBits::narrowed(std::fmax(std::fmin(value, largest), -largest));
  }
};

}  // namespace

SOFTCHECK_MUTANT mutant_eight_bits_nan_saturated(const softcheck_call* call) {
  return each_row_of_eight_bits<Clamped>(call, [](Row& row) { softmax(row); });
}
