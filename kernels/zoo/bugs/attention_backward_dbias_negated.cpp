// The gradient by the bias has its sign lost.
#include "kernels/zoo/attention_gradients.hpp"

using namespace softcheck::kernels::zoo::attention;

namespace {

template <class Real>
struct BiasNegated final : Gradients<Real> {
  using Gradients<Real>::Gradients;
  using Gradients<Real>::head;

  Real bias_term(std::size_t i, std::size_t j, Real p, Real own_delta) const override {
    return p * (own_delta - this->product(i, j));
  }
};

}  // namespace

SOFTCHECK_MUTANT mutant_attention_backward_dbias_negated(const softcheck_call* call) {
  return gradients_by<BiasNegated>(call);
}
