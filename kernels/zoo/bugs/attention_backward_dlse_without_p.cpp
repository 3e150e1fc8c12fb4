// It is added to every ds of the row, whatever the key weighs.
#include "kernels/zoo/attention_gradients.hpp"

using namespace softcheck::kernels::zoo::attention;

namespace {

template <class Real>
struct DlseWithoutP final : Gradients<Real> {
  using Gradients<Real>::Gradients;
  using Gradients<Real>::head;

  Real centre(std::size_t i) const override { return this->delta(i); }
  Real score_gradient(std::size_t i, std::size_t j, Real p, Real own_delta) const override {
    return Gradients<Real>::score_gradient(i, j, p, own_delta) + head.by_lse[i];
  }
};

}  // namespace

SOFTCHECK_MUTANT mutant_attention_backward_dlse_without_p(const softcheck_call* call) {
  return gradients_by<DlseWithoutP>(call);
}
