// Correct: what lies beyond the largest number of a format of 8 bits becomes that number, as CUDA's conversions do it.
#include "kernels/zoo/eight_bit_rows.hpp"

using namespace softcheck::kernels;
using namespace softcheck::kernels::zoo;

namespace {

struct Saturated : EightBits {
  std::uint8_t narrowed(float value) const {
    return is_e4m3 ? arithmetic::f32_to_e4m3(value, arithmetic::Beyond::saturated)
                   : arithmetic::f32_to_e5m2(value, arithmetic::Beyond::saturated);
  }
};

}  // namespace

SOFTCHECK_MUTANT correct_eight_bits_saturated_softmax(const softcheck_call* call) {
  return each_row_of_eight_bits<Saturated>(call, [](Row& row) { softmax(row); });
}

SOFTCHECK_MUTANT correct_eight_bits_saturated_log_softmax(const softcheck_call* call) {
  return each_row_of_eight_bits<Saturated>(call, [](Row& row) { log_softmax(row); });
}
