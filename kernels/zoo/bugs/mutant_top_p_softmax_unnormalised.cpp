// Bug: what is kept is not divided by its sum again (fairseq 882).
#include "kernels/zoo/top_p_rows.hpp"

using namespace softcheck::kernels::zoo;

SOFTCHECK_MUTANT mutant_top_p_softmax_unnormalised(const softcheck_call* call) {
  return each_top_p_row(call, [](auto& row) {
    using Real = typename std::decay_t<decltype(row)>::Number;
    const std::vector<Real> p = row.softmax();
    std::vector<bool> kept = row.prefix(p);
    row.above_min_p(p, kept);
    for (std::size_t i = 0; i < p.size(); ++i) row.out[i] = kept[i] || std::isnan(p[i]) ? p[i] : 0;
  });
}
