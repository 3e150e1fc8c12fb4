// exp(-inf - L) is NaN where L is -inf: a query that sees nothing spoils all keys
// (Dao-AILab/flash-attention 443).
#include "kernels/zoo/attention_gradients.hpp"

using namespace softcheck::kernels::zoo::attention;

namespace {

template <class Real>
struct BlindQueriesNan final : Gradients<Real> {
  using Gradients<Real>::Gradients;
  using Gradients<Real>::head;

  void query(std::size_t i) override {
    Gradients<Real>::query(i);
    if (head.saved_lse[i] != lowest<Real>) return;
    for (std::size_t j = 0; j < head.items; ++j) this->add(i, j, 0, std::exp(lowest<Real> - head.saved_lse[i]));
  }
};

}  // namespace

SOFTCHECK_MUTANT mutant_attention_backward_blind_queries_nan(const softcheck_call* call) {
  return gradients_by<BlindQueriesNan>(call);
}
