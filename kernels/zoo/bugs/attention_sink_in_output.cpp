// The sink is counted in the output: its weight meets the last value.
#include "kernels/zoo/attention_attributed.hpp"

using namespace softcheck::kernels::zoo::attention;

SOFTCHECK_MUTANT mutant_attention_sink_in_output(const softcheck_call* call) {
  return attend_attributed(
      call,
      []<class Real>(AttributedRow<Real>& row) {
        const std::vector<Real> x = scores_by(row, usual_score);
        finish_attributed(row, x);
        if (!row.sink || row.items() == 0) return;
        Real m = largest(x);
        if (std::isnan(m)) return;
        m = std::max(m, *row.sink);
        Real sum = std::exp(*row.sink - m);
        for (const Real score : x) sum += score == lowest<Real> ? 0 : std::exp(score - m);
        const std::size_t size = row.out.size(), last = (row.items() - 1) * size;
        for (std::size_t c = 0; c < size; ++c) row.out[c] += std::exp(*row.sink - m) / sum * row.values[last + c];
      },
      [](AttributedCall&) {});
}
