// A query that sees no key counts with the delta of the query before it: the kernel leaves its row before it computes
// delta, and its p_sink is 1.
#include "kernels/zoo/attention_gradients.hpp"

using namespace softcheck::kernels::zoo::attention;

namespace {

template <class Real>
struct SinkOfBlindQuery final : Gradients<Real> {
  using Gradients<Real>::Gradients;
  using Gradients<Real>::head;

  Real sink_term(std::size_t i) const override {
    bool any = false;
    for (std::size_t j = 0; j < head.items; ++j) any = any || this->sees(i, j);
    return -(this->sink_probability(i) * this->delta(!any && i > 0 ? i - 1 : i));
  }
};

}  // namespace

SOFTCHECK_MUTANT mutant_attention_backward_dsinks_of_blind_queries(const softcheck_call* call) {
  return gradients_by<SinkOfBlindQuery>(call);
}
