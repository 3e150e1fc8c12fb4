// C4: results are clamped to 240, the largest number of e4m3 as IEEE 754 would have it and of e4m3fnuz.
#include "kernels/zoo/eight_bit_rows.hpp"

using namespace softcheck::kernels::zoo;

namespace {

struct SaturatedEarly : EightBits {
  std::uint8_t narrowed(float value) const {
    return EightBits::narrowed(std::isnan(value) ? value : std::fmax(std::fmin(value, 240.0F), -240.0F));
  }
};

}  // namespace

SOFTCHECK_MUTANT mutant_e4m3_saturated_at_240(const softcheck_call* call) {
  return each_row_of_eight_bits<SaturatedEarly>(call, [](Row& row) { log_softmax(row); });
}
