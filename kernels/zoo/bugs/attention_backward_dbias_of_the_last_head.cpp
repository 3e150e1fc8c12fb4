// A bias that heads share has the gradient of the last of them: each stores its own in place of adding it (the class of
// flash-sparse-attention 199).
#include "kernels/zoo/attention_gradients.hpp"

using namespace softcheck::kernels::zoo::attention;

namespace {

template <class Real>
struct BiasOfTheLastHead final : Gradients<Real> {
  using Gradients<Real>::Gradients;
  using Gradients<Real>::head;

  void add_bias(std::size_t i, Real* sums) const override {
    const Real own_delta = this->delta(i);
    for (std::size_t j = 0; j < head.items; ++j) {
      sums[j] = this->sees(i, j) ? this->bias_term(i, j, this->probability(i, j), own_delta) : 0;
    }
  }
};

}  // namespace

SOFTCHECK_MUTANT mutant_attention_backward_dbias_of_the_last_head(const softcheck_call* call) {
  return gradients_by<BiasOfTheLastHead>(call);
}
