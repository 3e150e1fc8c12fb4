// Bug: where the lower end is the root, the sign of the product is 0 and the lower end moves on (entmax 32).
#include "kernels/zoo/sparsemax_rows.hpp"

using namespace softcheck::kernels::zoo;

SOFTCHECK_MUTANT mutant_sparsemax_bisection_loses_its_end(const softcheck_call* call) {
  return each_sparsemax_row(call, [](auto& row) {
    using Real = typename std::decay_t<decltype(row)>::Number;
    const std::vector<Real> z = row.centred();
    const auto excess = [&](Real tau) {
      Real sum = -1;
      for (const Real value : z) sum += value > tau ? value - tau : 0;
      return sum;
    };
    Real low = -1, width = 1 - 1 / static_cast<Real>(z.size());
    const Real first = excess(low);
    for (int step = 0; step < 60; ++step) {
      width /= 2;
      if (excess(low + width) * first >= 0) low += width;
    }
    row.above(z, low);
  });
}
