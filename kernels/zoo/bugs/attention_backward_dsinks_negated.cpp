// The gradient by a sink has its sign lost: p_sink delta in place of -p_sink delta.
#include "kernels/zoo/attention_gradients.hpp"

using namespace softcheck::kernels::zoo::attention;

namespace {

template <class Real>
struct SinkNegated final : Gradients<Real> {
  using Gradients<Real>::Gradients;
  using Gradients<Real>::head;

  Real sink_term(std::size_t i) const override { return this->sink_probability(i) * this->delta(i); }
};

}  // namespace

SOFTCHECK_MUTANT mutant_attention_backward_dsinks_negated(const softcheck_call* call) {
  return gradients_by<SinkNegated>(call);
}
