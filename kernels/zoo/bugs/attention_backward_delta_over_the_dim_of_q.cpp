// delta sums over as many columns as q has, not as v has (XunhaoLai/native-sparse-attention-triton 27).
#include "kernels/zoo/attention_gradients.hpp"

using namespace softcheck::kernels::zoo::attention;

namespace {

template <class Real>
struct DeltaOverTheDimOfQ final : Gradients<Real> {
  using Gradients<Real>::Gradients;
  using Gradients<Real>::head;

  Real delta(std::size_t i) const override {
    Real sum = 0;
    for (std::size_t c = 0; c < std::min(head.dim, head.value_dim); ++c) {
      sum += this->gradient(i, c) * head.saved_out[i * head.value_dim + c];
    }
    return sum;
  }
};

}  // namespace

SOFTCHECK_MUTANT mutant_attention_backward_delta_over_the_dim_of_q(const softcheck_call* call) {
  return gradients_by<DeltaOverTheDimOfQ>(call);
}
