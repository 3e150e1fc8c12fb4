// It is multiplied by the scale, and ds by the scale again.
#include "kernels/zoo/attention_gradients.hpp"

using namespace softcheck::kernels::zoo::attention;

namespace {

template <class Real>
struct DlseScaled final : Gradients<Real> {
  using Gradients<Real>::Gradients;
  using Gradients<Real>::head;

  Real of_scores = 1;

  Real by_lse(std::size_t i) const override { return of_scores * head.by_lse[i]; }
  void run(Real scale) override {
    of_scores = scale;
    Gradients<Real>::run(scale);
  }
};

}  // namespace

SOFTCHECK_MUTANT mutant_attention_backward_dlse_scaled(const softcheck_call* call) {
  return gradients_by<DlseScaled>(call);
}
