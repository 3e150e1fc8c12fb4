// FlashAttention 443: of a sequence with more queries than keys, the queries that see nothing are 0/0.
#include "kernels/zoo/attention_sequences.hpp"

using namespace softcheck::kernels::zoo::attention;

SOFTCHECK_MUTANT mutant_attention_packed_blind_queries_nan(const softcheck_call* call) {
  return attend_sequences(call, unchanged, unchanged_sequence, []<class Real>(Row<Real>& row) {
    const State<Real> s = online(row, 0, row.items());
    finish<Real>(row, s, 1, row.items() == 0 ? Real(0) : not_a_number<Real>);
  });
}
