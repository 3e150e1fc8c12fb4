// Correct: pages or packed sequences in blocks of 64 keys, merged; a query without keys has zeros.
#include "kernels/zoo/attention_sequences.hpp"

using namespace softcheck::kernels::zoo::attention;

SOFTCHECK_MUTANT attention_correct_pages_split(const softcheck_call* call) {
  return attend_sequences(call, unchanged, unchanged_sequence, []<class Real>(Row<Real>& row) {
    State<Real> all(row.out.size());
    for (std::size_t j = 0; j < row.items(); j += 64) {
      all = merged(all, online(row, j, std::min(row.items(), j + 64)));
    }
    finish<Real>(row, all, 1, 0);
  });
}
