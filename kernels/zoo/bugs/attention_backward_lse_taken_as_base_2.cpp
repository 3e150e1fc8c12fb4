// The saved log-sum-exp is taken as one of base 2.
#include "kernels/zoo/attention_gradients.hpp"

using namespace softcheck::kernels::zoo::attention;

namespace {

template <class Real>
struct LseTakenAsBaseTwo final : Gradients<Real> {
  using Gradients<Real>::Gradients;
  using Gradients<Real>::head;

  Real probability(std::size_t i, std::size_t j) const override {
    return std::exp2(this->score_of(i, j) * static_cast<Real>(1.4426950408889634) - head.saved_lse[i]);
  }
};

}  // namespace

SOFTCHECK_MUTANT mutant_attention_backward_lse_taken_as_base_2(const softcheck_call* call) {
  return gradients_by<LseTakenAsBaseTwo>(call);
}
