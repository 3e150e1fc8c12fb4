// ALiBi is added where the forward pass subtracted it.
#include "kernels/zoo/attention_gradients.hpp"

using namespace softcheck::kernels::zoo::attention;

namespace {

template <class Real>
struct BackwardAlibiSign final : Gradients<Real> {
  using Gradients<Real>::Gradients;
  using Gradients<Real>::head;

  Real probability(std::size_t i, std::size_t j) const override {
    AttributedRow<Real> row = head.rows[i];
    row.slope = -row.slope;
    return std::exp(attributed_score(row, j) - head.saved_lse[i]);
  }
};

}  // namespace

SOFTCHECK_MUTANT mutant_attention_backward_alibi_sign(const softcheck_call* call) {
  return gradients_by<BackwardAlibiSign>(call);
}
