// Correct on short rows: no sort; items at or below the threshold of those that are left go, until none does. In long
// rows the first sums, over items that have no part in the answer, err by more than what tells the two apart.
#include "kernels/zoo/sparsemax_rows.hpp"

using namespace softcheck::kernels::zoo;

SOFTCHECK_MUTANT correct_sparsemax_elimination(const softcheck_call* call) {
  return each_sparsemax_row(call, [](auto& row) {
    using Real = typename std::decay_t<decltype(row)>::Number;
    const std::vector<Real> z = row.centred();
    std::vector<Real> left;
    for (const Real value : z) {
      if (value > -1) left.push_back(value);
    }
    Real tau = 0;
    for (std::size_t before = 0; before != left.size() && !left.empty();) {
      before = left.size();
      Real sum = 0;
      for (const Real value : left) sum += value;
      tau = (sum - 1) / static_cast<Real>(before);
      left.erase(std::remove_if(left.begin(), left.end(), [tau](Real value) { return value <= tau; }), left.end());
    }
    row.above(z, tau);
  });
}
