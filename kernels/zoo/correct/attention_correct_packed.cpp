// Correct: packed sequences, pages or both, all scores first.
#include "kernels/zoo/attention_sequences.hpp"

using namespace softcheck::kernels::zoo::attention;

SOFTCHECK_MUTANT attention_correct_packed(const softcheck_call* call) {
  return attend_sequences(call, unchanged, unchanged_sequence, two_pass);
}
