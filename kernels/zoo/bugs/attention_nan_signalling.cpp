// C12: a NaN is known by its quiet bit; a signalling NaN in a query counts as 0.
#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>

#include "kernels/zoo/attention_places.hpp"

using namespace softcheck::kernels::zoo::attention;

SOFTCHECK_MUTANT mutant_attention_nan_signalling(const softcheck_call* call) {
  return attend_changed_rows(call, []<class Real>(const Attention& a, const Place& at, Row<Real>& row) {
    using Bits = std::conditional_t<sizeof(Real) == 8, std::uint64_t, std::uint32_t>;
    constexpr Bits quiet = Bits(1) << (std::numeric_limits<Real>::digits - 2);
    for (std::size_t t = 0; t < row.query.size(); ++t) {
      if (!std::isnan(row.query[t])) continue;
      Bits bits{};
      std::memcpy(&bits, a.q.at(at.b, at.h, at.i, static_cast<std::int64_t>(t)), sizeof bits);
      if ((bits & quiet) == 0) row.query[t] = 0;
    }
  });
}
