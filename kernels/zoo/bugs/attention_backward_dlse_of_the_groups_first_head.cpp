// That of the first head serves all of a group.
#include "kernels/zoo/attention_gradients.hpp"

using namespace softcheck::kernels::zoo::attention;

namespace {

template <class Real>
struct DlseOfTheFirstHead final : Gradients<Real> {
  using Gradients<Real>::Gradients;
  using Gradients<Real>::head;

  Real by_lse(std::size_t i) const override { return head.by_lse[i % head.queries]; }
};

}  // namespace

SOFTCHECK_MUTANT mutant_attention_backward_dlse_of_the_groups_first_head(const softcheck_call* call) {
  return gradients_by<DlseOfTheFirstHead>(call);
}
