// C12: the maximum is taken of the scores as integers: a negative NaN lies below everything.
#include <cmath>

#include "kernels/zoo/attention_places.hpp"

using namespace softcheck::kernels::zoo::attention;

SOFTCHECK_MUTANT mutant_attention_nan_negative(const softcheck_call* call) {
  return attend_changed_rows(call, []<class Real>(const Attention&, const Place&, Row<Real>& row) {
    const std::size_t d = row.query.size();
    for (std::size_t j = 0; j < row.items(); ++j) {
      for (std::size_t t = 0; t < d; ++t) {
        const Real x = row.keys[j * d + t];
        if (std::isnan(x) && std::signbit(x)) row.visible[j] = 0;
      }
    }
  });
}
