// Bug: the coefficients of the prefix are added in f16.
#include "kernels/zoo/top_p_rows.hpp"

using namespace softcheck::kernels::zoo;

SOFTCHECK_MUTANT mutant_top_p_softmax_prefix_in_f16(const softcheck_call* call) {
  return each_top_p_row(call, [](auto& row) {
    const auto p = row.softmax();
    std::vector<bool> kept(row.size(), row.top_p == 0);
    float before = 0;
    for (const std::size_t i : row.descending(p)) {
      if (row.top_p == 0 || before >= static_cast<float>(row.top_p)) break;
      kept[i] = true;
      before = rounded_to_f16(before + static_cast<float>(p[i]));
    }
    row.above_min_p(p, kept);
    row.renormalise(p, kept);
  });
}
