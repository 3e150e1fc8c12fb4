// Correct under sum=sequential: it meets g before delta does.
#include "kernels/zoo/attention_gradients.hpp"

using namespace softcheck::kernels::zoo::attention;

namespace {

template <class Real>
struct DlseFirst final : Gradients<Real> {
  using Gradients<Real>::Gradients;
  using Gradients<Real>::head;

  Real centre(std::size_t i) const override { return this->delta(i); }
  Real score_gradient(std::size_t i, std::size_t j, Real p, Real own_delta) const override {
    return p * ((this->product(i, j) + head.by_lse[i]) - own_delta) * this->slope_of(i, j);
  }
};

}  // namespace

SOFTCHECK_MUTANT attention_backward_correct_dlse_first(const softcheck_call* call) {
  return gradients_by<DlseFirst>(call);
}
