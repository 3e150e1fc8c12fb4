// C9, the class of ONNX Runtime #14475: the maximum is that of the first 16 keys.
#include <algorithm>

#include "kernels/zoo/attention_states.hpp"

using namespace softcheck::kernels::zoo::attention;

SOFTCHECK_MUTANT mutant_attention_max_of_first_block(const softcheck_call* call) {
  return attend(call, []<class Real>(Row<Real>& row) {
    const auto x = scores(row);
    const Real m = largest(x, 0, std::min<std::size_t>(16, x.size()));
    finish(row, accumulate(row, x, m == lowest<Real> ? largest(x) : m));
  });
}
