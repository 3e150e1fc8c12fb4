// Bug: tau by ten halvings of its interval, the sum left as it is (the class of entmax 30).
#include "kernels/zoo/sparsemax_rows.hpp"

using namespace softcheck::kernels::zoo;

SOFTCHECK_MUTANT mutant_sparsemax_ten_halvings(const softcheck_call* call) {
  return each_sparsemax_row(call, [](auto& row) {
    using Real = typename std::decay_t<decltype(row)>::Number;
    const std::vector<Real> z = row.centred();
    Real low = -1, high = 0;
    for (int step = 0; step < 10; ++step) {
      const Real middle = (low + high) / 2;
      Real sum = 0;
      for (const Real value : z) sum += value > middle ? value - middle : 0;
      (sum >= 1 ? low : high) = middle;
    }
    row.above(z, low);
  });
}
