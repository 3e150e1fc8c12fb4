// The gradient by a sink is 0, as the backward pass does not know of it (NVIDIA/TransformerEngine 3551).
#include "kernels/zoo/attention_gradients.hpp"

using namespace softcheck::kernels::zoo::attention;

namespace {

template <class Real>
struct SinkWithoutGradient final : Gradients<Real> {
  using Gradients<Real>::Gradients;
  using Gradients<Real>::head;

  Real sink_term(std::size_t) const override { return 0; }
};

}  // namespace

SOFTCHECK_MUTANT mutant_attention_backward_dsinks_zero(const softcheck_call* call) {
  return gradients_by<SinkWithoutGradient>(call);
}
