// 1 - y^2 of the capped score y itself, not of y / softcap.
#include "kernels/zoo/attention_gradients.hpp"

using namespace softcheck::kernels::zoo::attention;

namespace {

template <class Real>
struct SoftcapSlopeOfCapped final : Gradients<Real> {
  using Gradients<Real>::Gradients;
  using Gradients<Real>::head;

  Real score_gradient(std::size_t i, std::size_t j, Real p, Real own_delta) const override {
    const AttributedRow<Real>& row = head.rows[i];
    const Real y = row.softcap == 0 ? 0 : capped(score<Real>(row, j), row.softcap);
    return p * (this->product(i, j) - own_delta) * (1 - y * y);
  }
};

}  // namespace

SOFTCHECK_MUTANT mutant_attention_backward_softcap_slope_of_capped(const softcheck_call* call) {
  return gradients_by<SoftcapSlopeOfCapped>(call);
}
