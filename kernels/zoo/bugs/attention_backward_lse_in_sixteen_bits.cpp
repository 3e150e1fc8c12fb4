// The log-sum-exp is kept in bf16 between the passes (tenstorrent/tt-metal 41683).
#include "kernels/zoo/attention_gradients.hpp"

using namespace softcheck::kernels::zoo::attention;

namespace {

template <class Real>
struct LseInSixteenBits final : Gradients<Real> {
  using Gradients<Real>::Gradients;
  using Gradients<Real>::head;

  Real probability(std::size_t i, std::size_t j) const override {
    return std::exp(this->score_of(i, j) - rounded_to_bf16(static_cast<float>(head.saved_lse[i])));
  }
};

}  // namespace

SOFTCHECK_MUTANT mutant_attention_backward_lse_in_sixteen_bits(const softcheck_call* call) {
  return gradients_by<LseInSixteenBits>(call);
}
