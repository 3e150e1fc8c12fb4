// C3, FlashInfer #4267: the maximum starts at -5e4, called infinity: rows whose scores all lie below come to nothing.
#include <algorithm>

#include "kernels/zoo/attention_states.hpp"

using namespace softcheck::kernels::zoo::attention;

SOFTCHECK_MUTANT mutant_attention_maximum_from_5e4(const softcheck_call* call) {
  return attend(call, []<class Real>(Row<Real>& row) {
    const auto x = scores(row);
    finish(row, accumulate(row, x, std::max(largest(x), Real(-5e4))));
  });
}
