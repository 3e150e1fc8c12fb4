// Correct: packed sequences, pages or both, one key after the other; a query without keys has zeros.
#include "kernels/zoo/attention_sequences.hpp"

using namespace softcheck::kernels::zoo::attention;

SOFTCHECK_MUTANT attention_correct_packed_online(const softcheck_call* call) {
  return attend_sequences(call, unchanged, unchanged_sequence, []<class Real>(Row<Real>& row) {
    const State<Real> s = online(row, 0, row.items());
    finish<Real>(row, s, 1, 0);
  });
}
