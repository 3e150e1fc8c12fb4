// Keys that the mask hides have a gradient by the bias, too: p is not masked again.
#include "kernels/zoo/attention_gradients.hpp"

using namespace softcheck::kernels::zoo::attention;

namespace {

template <class Real>
struct BiasOfHiddenKeys final : Gradients<Real> {
  using Gradients<Real>::Gradients;
  using Gradients<Real>::head;

  void add_bias(std::size_t i, Real* sums) const override {
    bool any = false;
    for (std::size_t j = 0; j < head.items; ++j) any = any || this->sees(i, j);
    const Real own_delta = this->delta(i);
    for (std::size_t j = 0; j < head.items && any; ++j) {
      sums[j] += this->bias_term(i, j, this->probability(i, j), own_delta);
    }
  }
};

}  // namespace

SOFTCHECK_MUTANT mutant_attention_backward_dbias_of_hidden_keys(const softcheck_call* call) {
  return gradients_by<BiasOfHiddenKeys>(call);
}
