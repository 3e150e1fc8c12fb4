// The sum over heads that share a bias is kept in 16 bits.
#include "kernels/zoo/attention_gradients.hpp"

using namespace softcheck::kernels::zoo::attention;

namespace {

template <class Real>
struct BiasAddedNarrowly final : Gradients<Real> {
  using Gradients<Real>::Gradients;
  using Gradients<Real>::head;

  void add_bias(std::size_t i, Real* sums) const override {
    const Real own_delta = this->delta(i);
    for (std::size_t j = 0; j < head.items; ++j) {
      if (!this->sees(i, j)) continue;
      const Real term = this->bias_term(i, j, this->probability(i, j), own_delta);
      sums[j] = rounded_to_bf16(static_cast<float>(sums[j] + term));
    }
  }
};

}  // namespace

SOFTCHECK_MUTANT mutant_attention_backward_dbias_added_in_sixteen_bits(const softcheck_call* call) {
  return gradients_by<BiasAddedNarrowly>(call);
}
