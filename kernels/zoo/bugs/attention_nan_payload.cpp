// C12: a NaN is known by comparing its bits with those of the usual one; another in a value counts as 0.
#include <bit>
#include <cmath>
#include <limits>
#include <type_traits>

#include "kernels/zoo/attention_places.hpp"

using namespace softcheck::kernels::zoo::attention;

SOFTCHECK_MUTANT mutant_attention_nan_payload(const softcheck_call* call) {
  return attend_changed_rows(call, []<class Real>(const Attention&, const Place&, Row<Real>& row) {
    using Bits = std::conditional_t<sizeof(Real) == 8, std::uint64_t, std::uint32_t>;
    const Bits usual = std::bit_cast<Bits>(std::numeric_limits<Real>::quiet_NaN());
    for (Real& x : row.values) {
      if (std::isnan(x) && std::bit_cast<Bits>(x) != usual) x = 0;
    }
  });
}
