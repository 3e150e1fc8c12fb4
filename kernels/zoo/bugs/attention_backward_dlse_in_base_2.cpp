// That by a log-sum-exp in base 2 is taken: 1 / ln 2 of it.
#include "kernels/zoo/attention_gradients.hpp"

using namespace softcheck::kernels::zoo::attention;

namespace {

template <class Real>
struct DlseInBase2 final : Gradients<Real> {
  using Gradients<Real>::Gradients;
  using Gradients<Real>::head;

  Real by_lse(std::size_t i) const override { return head.by_lse[i] * static_cast<Real>(1.4426950408889634); }
};

}  // namespace

SOFTCHECK_MUTANT mutant_attention_backward_dlse_in_base_2(const softcheck_call* call) {
  return gradients_by<DlseInBase2>(call);
}
