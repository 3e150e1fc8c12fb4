// The gradient by a sink is minus the sum of p_sink: delta is left out, which a loss that is the sum of outputs of 1
// hides.
#include "kernels/zoo/attention_gradients.hpp"

using namespace softcheck::kernels::zoo::attention;

namespace {

template <class Real>
struct SinkWithoutDelta final : Gradients<Real> {
  using Gradients<Real>::Gradients;
  using Gradients<Real>::head;

  Real sink_term(std::size_t i) const override { return -this->sink_probability(i); }
};

}  // namespace

SOFTCHECK_MUTANT mutant_attention_backward_dsinks_without_delta(const softcheck_call* call) {
  return gradients_by<SinkWithoutDelta>(call);
}
