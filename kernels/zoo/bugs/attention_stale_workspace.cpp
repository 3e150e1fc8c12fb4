// C16, the class of FlashInfer #4051: the parts of a split live in a workspace; a part without visible keys is not
// written, and the merge takes what an earlier query left there.
#include <vector>

#include "kernels/zoo/attention_states.hpp"

using namespace softcheck::kernels::zoo::attention;

SOFTCHECK_MUTANT mutant_attention_stale_workspace(const softcheck_call* call) {
  return attend(call, []<class Real>(Row<Real>& row) {
    static std::vector<State<Real>> workspace(4, State<Real>(0));
    State<Real> all(row.out.size());
    for (std::size_t k = 0; k < 4; ++k) {
      State<Real> part = online(row, k * row.items() / 4, (k + 1) * row.items() / 4);
      if (part.weights != 0) workspace[k] = part;
      workspace[k].values.resize(row.out.size());
      all = merged(all, workspace[k]);
    }
    finish(row, all);
  });
}
