// No queries, no blocks: dk and dv keep what their memory held (ROCm/flash-attention 179).
#include "kernels/zoo/attention_gradients.hpp"

using namespace softcheck::kernels::zoo::attention;

namespace {

template <class Real>
struct UnwrittenWithoutQueries final : Gradients<Real> {
  using Gradients<Real>::Gradients;
  using Gradients<Real>::head;

  void run(Real scale) override {
    if (!head.rows.empty()) Gradients<Real>::run(scale);
  }
};

}  // namespace

SOFTCHECK_MUTANT mutant_attention_backward_unwritten_without_queries(const softcheck_call* call) {
  return gradients_by<UnwrittenWithoutQueries>(call);
}
