// C12: with more than 128 keys a NaN in the last value of a column is taken for padding.
#include <cmath>

#include "kernels/zoo/attention_places.hpp"

using namespace softcheck::kernels::zoo::attention;

SOFTCHECK_MUTANT mutant_attention_nan_of_last_value(const softcheck_call* call) {
  return attend_changed_rows(call, []<class Real>(const Attention&, const Place&, Row<Real>& row) {
    const std::size_t size = row.out.size();
    for (std::size_t k = row.values.size() - size; row.items() > 128 && k < row.values.size(); ++k) {
      if (std::isnan(row.values[k])) row.values[k] = 0;
    }
  });
}

// Keys whose weight underflows to 0 are left out, so that the NaN of such a value does not show: 0 times NaN is NaN.
SOFTCHECK_MUTANT mutant_attention_skips_zero_weights(const softcheck_call* call) {
  return attend_changed_rows(call, []<class Real>(const Attention&, const Place&, Row<Real>& row) {
    const std::vector<Real> x = scores(row);
    const Real maximum = largest(x);
    const std::size_t size = row.out.size();
    for (std::size_t j = 0; j < row.items(); ++j) {
      if (std::exp(x[j] - maximum) == 0)
        std::fill_n(row.values.begin() + static_cast<std::ptrdiff_t>(j * size), size, 0);
    }
  });
}
