// The sign of dq and dk is that of a loss to be maximised; a test that compares norms does not see it.
#include "kernels/zoo/attention_gradients.hpp"

using namespace softcheck::kernels::zoo::attention;

namespace {

template <class Real>
struct NegatedGradients final : Gradients<Real> {
  using Gradients<Real>::Gradients;
  using Gradients<Real>::head;

  void finish_sums(Real scale) override {
    for (Real& x : head.dq) x *= -scale;
    for (Real& x : head.dk) x *= -scale;
  }
};

}  // namespace

SOFTCHECK_MUTANT mutant_attention_backward_negated(const softcheck_call* call) {
  return gradients_by<NegatedGradients>(call);
}
