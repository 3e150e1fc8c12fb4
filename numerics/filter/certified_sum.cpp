#include "numerics/filter/certified_sum.hpp"

#include <cmath>
#include <stdexcept>

#include "numerics/filter/row_stages.hpp"
#include "numerics/formats/fp_environment.hpp"

namespace softcheck::numerics {
namespace {

template <class T>
Approximation sum_up(std::span<const T> values) {
  const FpEnvironmentGuard guard;
  stages::require_size("certified_sum", values.size());
  double high = 0;
  double low = 0;
  double magnitude = 0;
  for (T value : values) {
    if (!std::isfinite(value)) throw std::invalid_argument("certified_sum: values must be finite, got NaN or infinity");
    const double term = static_cast<double>(value);
    const double next = high + term;
    const double part = next - high;
    low += (high - (next - part)) + (term - part);
    high = next;
    magnitude += std::fabs(static_cast<double>(value));
  }
  const double result = high + low;
  const double n = static_cast<double>(values.size());
  // Ogita, Rump, Oishi, SIAM J. Sci. Comput. 26 (2005), Prop. 4.5: u |s| + gamma_(n-1)^2 sum |value|.
  const double error =
      (1 + 0x1p-20) * (stages::unit * std::fabs(result) + n * n * (stages::unit * stages::unit) * magnitude);
  return {result, error};
}

}  // namespace

Approximation certified_sum(std::span<const float> values) { return sum_up(values); }
Approximation certified_sum(std::span<const double> values) { return sum_up(values); }

}  // namespace softcheck::numerics
