// vLLM 47305, 53628's kind: the mask adds -inf to the scores of slots behind the length, and NaN - inf is NaN.
#include "kernels/zoo/attention_sequences.hpp"

using namespace softcheck::kernels::zoo::attention;

SOFTCHECK_MUTANT mutant_attention_pages_slots_minus_infinity(const softcheck_call* call) {
  return attend_sequences(
      call, unchanged,
      [](const SequenceCall& c, Sequence& s) {
        s.hidden_from = s.keys;
        s.keys = (s.keys + c.page - 1) / c.page * c.page;
        return true;
      },
      []<class Real>(Row<Real>& row) {
        std::vector<Real> x;
        for (std::size_t j = 0; j < row.items(); ++j) {
          const bool visible = row.visible[j] != 0;
          row.visible[j] = 1;
          x.push_back(score(row, j) + (visible ? 0 : lowest<Real>));
        }
        finish(row, accumulate(row, x, largest(x)));
      });
}
