// Every 64 queries dv is stored in bf16 and added up there (zhuzilin/ring-flash-attention 42).
#include "kernels/zoo/attention_gradients.hpp"

using namespace softcheck::kernels::zoo::attention;

namespace {

template <class Real>
struct DvAddedInSixteenBits final : Gradients<Real> {
  using Gradients<Real>::Gradients;
  using Gradients<Real>::head;

  void query(std::size_t i) override {
    Gradients<Real>::query(i);
    if (i % 8 != 7) return;
    for (Real& x : head.dv) x = rounded_to_bf16(static_cast<float>(x));
  }
};

}  // namespace

SOFTCHECK_MUTANT mutant_attention_backward_dv_added_in_sixteen_bits(const softcheck_call* call) {
  return gradients_by<DvAddedInSixteenBits>(call);
}
