// Correct under sum=sequential: the gradients by out and by the log-sum-exp are added up, as autograd does.
#include "kernels/zoo/attention_gradients.hpp"

using namespace softcheck::kernels::zoo::attention;

namespace {

template <class Real>
struct DlseApart final : Gradients<Real> {
  using Gradients<Real>::Gradients;
  using Gradients<Real>::head;

  Real centre(std::size_t i) const override { return this->delta(i); }
  Real score_gradient(std::size_t i, std::size_t j, Real p, Real own_delta) const override {
    return Gradients<Real>::score_gradient(i, j, p, own_delta) + p * head.by_lse[i] * this->slope_of(i, j);
  }
};

}  // namespace

SOFTCHECK_MUTANT attention_backward_correct_dlse_apart(const softcheck_call* call) {
  return gradients_by<DlseApart>(call);
}
