// The gradient goes past the softcap as if it were not there.
#include "kernels/zoo/attention_gradients.hpp"

using namespace softcheck::kernels::zoo::attention;

namespace {

template <class Real>
struct SoftcapSlopeLeftOut final : Gradients<Real> {
  using Gradients<Real>::Gradients;
  using Gradients<Real>::head;

  Real score_gradient(std::size_t i, std::size_t j, Real p, Real own_delta) const override {
    return p * (this->product(i, j) - own_delta);
  }
};

}  // namespace

SOFTCHECK_MUTANT mutant_attention_backward_softcap_slope_left_out(const softcheck_call* call) {
  return gradients_by<SoftcapSlopeLeftOut>(call);
}
