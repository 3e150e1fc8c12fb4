// It is stored in bf16 beside delta.
#include "kernels/zoo/attention_gradients.hpp"

using namespace softcheck::kernels::zoo::attention;

namespace {

template <class Real>
struct DlseInSixteenBits final : Gradients<Real> {
  using Gradients<Real>::Gradients;
  using Gradients<Real>::head;

  Real by_lse(std::size_t i) const override { return rounded_to_bf16(static_cast<float>(head.by_lse[i])); }
};

}  // namespace

SOFTCHECK_MUTANT mutant_attention_backward_dlse_in_sixteen_bits(const softcheck_call* call) {
  return gradients_by<DlseInSixteenBits>(call);
}
