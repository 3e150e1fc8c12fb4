// Correct: blocks of 16 keys as in FlashAttention, at most one rescaling a block. Sums run from key to key: sequential.
#include <algorithm>

#include "kernels/zoo/attention_states.hpp"

using namespace softcheck::kernels::zoo::attention;

SOFTCHECK_MUTANT attention_correct_blocked(const softcheck_call* call) {
  return attend(call, []<class Real>(Row<Real>& row) {
    const auto x = scores(row);
    State<Real> s(row.out.size());
    for (std::size_t begin = 0; begin < x.size(); begin += 16) {
      const std::size_t end = std::min(begin + 16, x.size());
      rescale(s, std::max(s.maximum, largest(x, begin, end)));
      for (std::size_t j = begin; j < end; ++j) {
        if (x[j] != lowest<Real>) add(s, row, j, s.maximum - x[j]);
      }
    }
    finish(row, s);
  });
}
