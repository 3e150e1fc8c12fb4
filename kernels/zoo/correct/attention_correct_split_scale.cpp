// Correct under contract scale=split: the scale's square root is a factor of the query and of every key.
#include <cmath>

#include "kernels/zoo/attention_states.hpp"

using namespace softcheck::kernels::zoo::attention;

namespace {

// The same query and keys, scaled, for a scale of 1.
template <class Real, class Store>
Row<Real> with_split_scale(const Row<Real>& row, Real root, Store store) {
  Row<Real> scaled = row;
  scaled.scale = 1;
  for (Real& factor : scaled.query) factor = store(factor * root);
  for (Real& factor : scaled.keys) factor = store(factor * root);
  return scaled;
}

template <class Real>
Real root_of_scale(const Row<Real>& row) {
  return static_cast<Real>(std::sqrt(static_cast<double>(row.scale)));
}

}  // namespace

SOFTCHECK_MUTANT attention_correct_split_scale(const softcheck_call* call) {
  return call->scale < 0 ? 1 : attend(call, []<class Real>(Row<Real>& row) {
    row = with_split_scale(row, root_of_scale(row), [](Real x) { return x; });
    attend_two_pass(row);
  });
}

// Correct under contract scale=stored where the inputs are bf16: what is scaled is stored as they are.
SOFTCHECK_MUTANT attention_correct_stored_scale(const softcheck_call* call) {
  return call->scale < 0 ? 1 : attend(call, []<class Real>(Row<Real>& row) {
    row = with_split_scale(row, root_of_scale(row), [](Real x) { return rounded_to_bf16(static_cast<float>(x)); });
    attend_two_pass(row);
  });
}

// C10, the class of metal-flash-attention #8: the scores of the query and the keys that were scaled and stored in bf16
// are scaled again.
SOFTCHECK_MUTANT mutant_attention_stored_scale_twice(const softcheck_call* call) {
  return call->scale < 0 ? 1 : attend(call, []<class Real>(Row<Real>& row) {
    const Real scale = row.scale;
    row = with_split_scale(row, root_of_scale(row), [](Real x) { return rounded_to_bf16(static_cast<float>(x)); });
    row.scale = scale;
    attend_two_pass(row);
  });
}

// C10: the query and the keys are stored in bf16, but not scaled.
SOFTCHECK_MUTANT mutant_attention_stored_scale_forgotten(const softcheck_call* call) {
  return call->scale < 0 ? 1 : attend(call, []<class Real>(Row<Real>& row) {
    row = with_split_scale(row, Real(1), [](Real x) { return rounded_to_bf16(static_cast<float>(x)); });
    attend_two_pass(row);
  });
}

// C10: the root itself is held in bf16.
SOFTCHECK_MUTANT mutant_attention_root_of_scale_in_bf16(const softcheck_call* call) {
  return call->scale < 0 ? 1 : attend(call, []<class Real>(Row<Real>& row) {
    const Real root = rounded_to_bf16(static_cast<float>(root_of_scale(row)));
    row = with_split_scale(row, root, [](Real x) { return x; });
    attend_two_pass(row);
  });
}
