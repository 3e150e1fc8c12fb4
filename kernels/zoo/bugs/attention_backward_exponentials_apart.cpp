// p = exp(x) / exp(L): both overflow where |L| is above 88.
#include "kernels/zoo/attention_gradients.hpp"

using namespace softcheck::kernels::zoo::attention;

namespace {

template <class Real>
struct ExponentialsApart final : Gradients<Real> {
  using Gradients<Real>::Gradients;
  using Gradients<Real>::head;

  Real probability(std::size_t i, std::size_t j) const override {
    return std::exp(this->score_of(i, j)) / std::exp(head.saved_lse[i]);
  }
};

}  // namespace

SOFTCHECK_MUTANT mutant_attention_backward_exponentials_apart(const softcheck_call* call) {
  return gradients_by<ExponentialsApart>(call);
}
