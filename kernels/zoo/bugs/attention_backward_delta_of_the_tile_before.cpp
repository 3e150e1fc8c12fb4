// From the second tile of 32 queries on, delta is that of the tile before: the next one was not awaited
// (Dao-AILab/flash-attention 2481).
#include "kernels/zoo/attention_gradients.hpp"

using namespace softcheck::kernels::zoo::attention;

namespace {

template <class Real>
struct DeltaOfTheTileBefore final : Gradients<Real> {
  using Gradients<Real>::Gradients;
  using Gradients<Real>::head;

  Real delta(std::size_t i) const override {
    const std::size_t own = i % head.queries;
    return Gradients<Real>::delta(own >= 32 ? i - 32 : i);
  }
};

}  // namespace

SOFTCHECK_MUTANT mutant_attention_backward_delta_of_the_tile_before(const softcheck_call* call) {
  return gradients_by<DeltaOfTheTileBefore>(call);
}
