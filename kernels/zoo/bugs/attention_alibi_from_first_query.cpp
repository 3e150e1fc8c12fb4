// mlx 2835: the distance is |i - j|, wherever the query stands.
#include "kernels/zoo/attention_attributed.hpp"

using namespace softcheck::kernels::zoo::attention;

SOFTCHECK_MUTANT mutant_attention_alibi_from_first_query(const softcheck_call* call) {
  const std::int64_t diagonal = call->n_inputs < 3 ? 0 : call->inputs[1]->shape[2] - call->inputs[0]->shape[2];
  return attend_attributed(
      call,
      [&]<class Real>(AttributedRow<Real>& row) {
        row.place -= diagonal;
        finish_attributed(row, scores_by(row, usual_score));
      },
      [](AttributedCall&) {});
}
