// The gradient by the bias has the slope of the softcap, which the bias stands behind.
#include "kernels/zoo/attention_gradients.hpp"

using namespace softcheck::kernels::zoo::attention;

namespace {

template <class Real>
struct BiasThroughTheCap final : Gradients<Real> {
  using Gradients<Real>::Gradients;
  using Gradients<Real>::head;

  Real bias_term(std::size_t i, std::size_t j, Real p, Real own_delta) const override {
    return this->score_gradient(i, j, p, own_delta);
  }
};

}  // namespace

SOFTCHECK_MUTANT mutant_attention_backward_dbias_through_the_cap(const softcheck_call* call) {
  return gradients_by<BiasThroughTheCap>(call);
}
