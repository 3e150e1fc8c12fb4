// The loss has no gradient by the log-sum-exp, as where a kernel marks it as not differentiable.
#include "kernels/zoo/attention_gradients.hpp"

using namespace softcheck::kernels::zoo::attention;

namespace {

template <class Real>
struct DlseDropped final : Gradients<Real> {
  using Gradients<Real>::Gradients;
  using Gradients<Real>::head;

  Real by_lse(std::size_t) const override { return 0; }
};

}  // namespace

SOFTCHECK_MUTANT mutant_attention_backward_dlse_dropped(const softcheck_call* call) {
  return gradients_by<DlseDropped>(call);
}
