// C11: the bits behind the last one are cut off, as they are where e5m2 is taken for the upper half of an f16.
#include "kernels/zoo/eight_bit_rows.hpp"

using namespace softcheck::kernels::zoo;

namespace {

struct Truncated : EightBits {
  std::uint8_t narrowed(float value) const {
    const std::uint8_t nearest = EightBits::narrowed(value);
    return std::fabs(EightBits::widened(nearest)) > std::fabs(value) ? static_cast<std::uint8_t>(nearest - 1) : nearest;
  }
};

}  // namespace

SOFTCHECK_MUTANT mutant_eight_bits_truncated(const softcheck_call* call) {
  return each_row_of_eight_bits<Truncated>(call, [](Row& row) { softmax(row); });
}
