// Correct under sum=sequential: tiles of keys from the last to the first, all queries for each, the scale with ds, as
// kernels do that give each block of threads a tile of keys and add dq atomically.
#include "kernels/zoo/attention_gradients.hpp"

using namespace softcheck::kernels::zoo::attention;

namespace {

template <class Real>
struct ByKeysGradients final : Gradients<Real> {
  using Gradients<Real>::Gradients;
  using Gradients<Real>::head;

  Real score_gradient(std::size_t i, std::size_t j, Real p, Real own_delta) const override {
    return head.rows[i].scale * (p * (this->product(i, j) - own_delta) * this->slope_of(i, j));
  }
  void finish_sums(Real) override {}
  void run(Real) override {
    constexpr std::size_t tile = 16;
    this->clear();
    for (std::size_t end = head.items; end > 0; end -= std::min(end, tile)) {
      for (std::size_t i = 0; i < head.rows.size(); ++i) {
        const Real own_delta = this->delta(i);
        for (std::size_t j = end - std::min(end, tile); j < end; ++j) {
          if (!this->sees(i, j)) continue;
          const Real p = this->probability(i, j);
          this->add(i, j, p, this->score_gradient(i, j, p, own_delta));
        }
      }
    }
  }
};

}  // namespace

SOFTCHECK_MUTANT attention_backward_correct_by_keys(const softcheck_call* call) {
  return gradients_by<ByKeysGradients>(call);
}
