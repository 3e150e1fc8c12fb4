// The sum is computed again, and the sink is not in it (NVIDIA/TransformerEngine 3551 drops it in the backward pass).
#include "kernels/zoo/attention_gradients.hpp"

using namespace softcheck::kernels::zoo::attention;

namespace {

template <class Real>
struct SinkNotInSum final : Gradients<Real> {
  using Gradients<Real>::Gradients;
  using Gradients<Real>::head;

  Real probability(std::size_t i, std::size_t j) const override {
    const std::vector<Real> x = scores_by(head.rows[i], usual_score);
    const Real m = largest(x);
    Real sum = 0;
    for (const Real score : x) sum += std::exp(score - m);
    return std::exp(x[j] - m) / sum;
  }
};

}  // namespace

SOFTCHECK_MUTANT mutant_attention_backward_sink_not_in_sum(const softcheck_call* call) {
  return gradients_by<SinkNotInSum>(call);
}
