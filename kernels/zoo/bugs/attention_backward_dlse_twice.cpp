// A preprocessing pass takes it from delta, and the loop over keys once more.
#include "kernels/zoo/attention_gradients.hpp"

using namespace softcheck::kernels::zoo::attention;

namespace {

template <class Real>
struct DlseTwice final : Gradients<Real> {
  using Gradients<Real>::Gradients;
  using Gradients<Real>::head;

  Real by_lse(std::size_t i) const override { return 2 * head.by_lse[i]; }
};

}  // namespace

SOFTCHECK_MUTANT mutant_attention_backward_dlse_twice(const softcheck_call* call) {
  return gradients_by<DlseTwice>(call);
}
