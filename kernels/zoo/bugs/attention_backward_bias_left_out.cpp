// The bias that the forward pass added is not added again.
#include "kernels/zoo/attention_gradients.hpp"

using namespace softcheck::kernels::zoo::attention;

namespace {

template <class Real>
struct BiasLeftOut final : Gradients<Real> {
  using Gradients<Real>::Gradients;
  using Gradients<Real>::head;

  Real probability(std::size_t i, std::size_t j) const override {
    AttributedRow<Real> row = head.rows[i];
    row.bias.clear();
    return std::exp(attributed_score(row, j) - head.saved_lse[i]);
  }
};

}  // namespace

SOFTCHECK_MUTANT mutant_attention_backward_bias_left_out(const softcheck_call* call) {
  return gradients_by<BiasLeftOut>(call);
}
