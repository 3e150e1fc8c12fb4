// Bug: the smallest coefficient that is kept of the first row is that of all rows.
#include <optional>

#include "kernels/zoo/top_p_rows.hpp"

using namespace softcheck::kernels::zoo;

SOFTCHECK_MUTANT mutant_top_p_softmax_mass_of_the_first_row(const softcheck_call* call) {
  std::optional<double> pivot;
  return each_top_p_row(call, [&](auto& row) {
    const auto p = row.softmax();
    std::vector<bool> kept = row.prefix(p);
    double smallest = 1;
    for (std::size_t i = 0; i < p.size(); ++i) {
      if (kept[i] && static_cast<double>(p[i]) < smallest) smallest = static_cast<double>(p[i]);
    }
    if (!pivot) pivot = smallest;
    const std::size_t first = row.descending(p)[0];
    for (std::size_t i = 0; i < p.size(); ++i) {
      if (row.top_p != 0) kept[i] = i == first || static_cast<double>(p[i]) >= *pivot;
    }
    row.above_min_p(p, kept);
    row.renormalise(p, kept);
  });
}
