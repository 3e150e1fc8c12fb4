// Lengths are kept from the first call of as many sequences and tokens: a plan that is not made anew.
#include "kernels/zoo/attention_sequences.hpp"

using namespace softcheck::kernels::zoo::attention;

SOFTCHECK_MUTANT mutant_attention_packed_lengths_of_first_call(const softcheck_call* call) {
  static std::vector<std::int64_t> cu_q, cu_k, lengths;
  return attend_sequences(
      call,
      [](SequenceCall& c) {
        if (cu_q.size() != c.cu_q.size() || cu_q.back() != c.cu_q.back() || cu_k.back() != c.cu_k.back()) {
          cu_q = c.cu_q;
          cu_k = c.cu_k;
          lengths = c.lengths;
        }
        c.cu_q = cu_q;
        c.cu_k = cu_k;
        c.lengths = lengths;
      },
      unchanged_sequence, two_pass);
}
