// The sink is scaled like a score before its exponential is taken, in the gradient by it alone.
#include "kernels/zoo/attention_gradients.hpp"

using namespace softcheck::kernels::zoo::attention;

namespace {

template <class Real>
struct SinkScaled final : Gradients<Real> {
  using Gradients<Real>::Gradients;
  using Gradients<Real>::head;

  Real sink_probability(std::size_t i) const override {
    return std::exp(head.rows[i].scale * *head.rows[i].sink - head.saved_lse[i]);
  }
};

}  // namespace

SOFTCHECK_MUTANT mutant_attention_backward_dsinks_scaled(const softcheck_call* call) {
  return gradients_by<SinkScaled>(call);
}
