// vLLM 936, openvino 37377: the last page is read whole; slots behind the length get weight 0, and 0 NaN is NaN.
#include "kernels/zoo/attention_sequences.hpp"

using namespace softcheck::kernels::zoo::attention;

SOFTCHECK_MUTANT mutant_attention_pages_slots_times_zero(const softcheck_call* call) {
  return attend_sequences(
      call, unchanged,
      [](const SequenceCall& c, Sequence& s) {
        s.hidden_from = s.keys;
        s.keys = (s.keys + c.page - 1) / c.page * c.page;
        return true;
      },
      []<class Real>(Row<Real>& row) {
        attend_two_pass(row);
        for (std::size_t j = 0; j < row.items(); ++j) {
          if (row.visible[j] != 0) continue;
          for (std::size_t c = 0; c < row.out.size(); ++c) row.out[c] += 0 * row.values[j * row.out.size() + c];
        }
      });
}
