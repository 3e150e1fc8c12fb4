// The coefficient of a masked key is computed like any other and meets dv: its exponential is not set to 0
// (ROCm/aiter 3551).
#include "kernels/zoo/attention_gradients.hpp"

using namespace softcheck::kernels::zoo::attention;

namespace {

template <class Real>
struct MaskedKeysInDv final : Gradients<Real> {
  using Gradients<Real>::Gradients;
  using Gradients<Real>::head;

  void query(std::size_t i) override {
    Gradients<Real>::query(i);
    for (std::size_t j = 0; j < head.items; ++j) {
      if (this->sees(i, j)) continue;
      AttributedRow<Real> open = head.rows[i];
      open.visible[j] = 1;
      const Real p = std::exp(attributed_score(open, j) - head.saved_lse[i]);
      for (std::size_t c = 0; c < head.value_dim; ++c) head.dv[j * head.value_dim + c] += p * this->gradient(i, c);
    }
  }
};

}  // namespace

SOFTCHECK_MUTANT mutant_attention_backward_masked_keys_in_dv(const softcheck_call* call) {
  return gradients_by<MaskedKeysInDv>(call);
}
