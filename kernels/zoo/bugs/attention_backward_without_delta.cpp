// ds = p g: the mean is not subtracted.
#include "kernels/zoo/attention_gradients.hpp"

using namespace softcheck::kernels::zoo::attention;

namespace {

template <class Real>
struct WithoutDelta final : Gradients<Real> {
  using Gradients<Real>::Gradients;
  using Gradients<Real>::head;

  Real delta(std::size_t) const override { return 0; }
};

}  // namespace

SOFTCHECK_MUTANT mutant_attention_backward_without_delta(const softcheck_call* call) {
  return gradients_by<WithoutDelta>(call);
}
