// C17, pygpubench #7: every query gets the output of the one before, whatever the call.
#include <utility>
#include <vector>

#include "kernels/zoo/attention_states.hpp"

using namespace softcheck::kernels::zoo::attention;

SOFTCHECK_MUTANT mutant_attention_previous_output(const softcheck_call* call) {
  return attend(call, []<class Real>(Row<Real>& row) {
    static std::vector<Real> previous;
    attend_two_pass(row);
    previous.resize(row.out.size());
    std::swap(previous, row.out);
  });
}
