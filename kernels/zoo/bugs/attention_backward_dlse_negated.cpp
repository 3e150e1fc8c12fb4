// It is added to delta: ds = p (g - delta - dlse).
#include "kernels/zoo/attention_gradients.hpp"

using namespace softcheck::kernels::zoo::attention;

namespace {

template <class Real>
struct DlseNegated final : Gradients<Real> {
  using Gradients<Real>::Gradients;
  using Gradients<Real>::head;

  Real by_lse(std::size_t i) const override { return -head.by_lse[i]; }
};

}  // namespace

SOFTCHECK_MUTANT mutant_attention_backward_dlse_negated(const softcheck_call* call) {
  return gradients_by<DlseNegated>(call);
}
