// Every query takes that of the one before it.
#include "kernels/zoo/attention_gradients.hpp"

using namespace softcheck::kernels::zoo::attention;

namespace {

template <class Real>
struct DlseOfTheRowBefore final : Gradients<Real> {
  using Gradients<Real>::Gradients;
  using Gradients<Real>::head;

  Real by_lse(std::size_t i) const override { return head.by_lse[i % head.queries == 0 ? i : i - 1]; }
};

}  // namespace

SOFTCHECK_MUTANT mutant_attention_backward_dlse_of_the_row_before(const softcheck_call* call) {
  return gradients_by<DlseOfTheRowBefore>(call);
}
