// The gradient by the bias is p: the softmax, not its gradient.
#include "kernels/zoo/attention_gradients.hpp"

using namespace softcheck::kernels::zoo::attention;

namespace {

template <class Real>
struct BiasIsTheSoftmax final : Gradients<Real> {
  using Gradients<Real>::Gradients;
  using Gradients<Real>::head;

  Real bias_term(std::size_t, std::size_t, Real p, Real) const override { return p; }
};

}  // namespace

SOFTCHECK_MUTANT mutant_attention_backward_dbias_of_the_saved_softmax(const softcheck_call* call) {
  return gradients_by<BiasIsTheSoftmax>(call);
}
