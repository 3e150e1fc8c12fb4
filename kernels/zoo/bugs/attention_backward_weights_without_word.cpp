// Coefficients meet dv in bf16, and the contract does not say so.
#include "kernels/zoo/attention_gradients.hpp"

using namespace softcheck::kernels::zoo::attention;

namespace {

template <class Real>
struct WeightsWithoutWord final : Gradients<Real> {
  using Gradients<Real>::Gradients;
  using Gradients<Real>::head;

  Real stored_weight(Real p) const override { return rounded_to_bf16(static_cast<float>(p)); }
};

}  // namespace

SOFTCHECK_MUTANT mutant_attention_backward_weights_without_word(const softcheck_call* call) {
  return gradients_by<WeightsWithoutWord>(call);
}
