// Correct under exp=E:4,A:4: exp2 of scores and log-sum-exp times log2 e.
#include "kernels/zoo/attention_gradients.hpp"

using namespace softcheck::kernels::zoo::attention;

namespace {

template <class Real>
struct BaseTwoGradients final : Gradients<Real> {
  using Gradients<Real>::Gradients;
  using Gradients<Real>::head;

  Real probability(std::size_t i, std::size_t j) const override {
    const Real to_base_2 = static_cast<Real>(1.4426950408889634);
    return std::exp2(this->score_of(i, j) * to_base_2 - head.saved_lse[i] * to_base_2);
  }
};

}  // namespace

SOFTCHECK_MUTANT attention_backward_correct_base_2(const softcheck_call* call) {
  return gradients_by<BaseTwoGradients>(call);
}
