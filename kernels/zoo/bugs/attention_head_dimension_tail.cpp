// C5, MLC-LLM PR #1889: the dot product takes four elements at a time and leaves out the rest.
#include <algorithm>

#include "kernels/zoo/attention_states.hpp"

using namespace softcheck::kernels::zoo::attention;

SOFTCHECK_MUTANT mutant_attention_head_dimension_tail(const softcheck_call* call) {
  return attend(call, []<class Real>(Row<Real>& row) {
    const std::size_t d = row.query.size();
    std::fill(row.query.begin() + static_cast<std::ptrdiff_t>(d - d % 4), row.query.end(), Real(0));
    attend_two_pass(row);
  });
}
