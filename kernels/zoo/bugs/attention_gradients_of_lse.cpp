// Bugs in the gradients of attention through its log-sum-exps.
#include "kernels/zoo/attention_gradients.hpp"

using namespace softcheck::kernels::zoo::attention;

// The softcap's slope multiplies the gradient by the output only.
namespace {

template <class Real>
struct DlseBehindTheCap final : Gradients<Real> {
  using Gradients<Real>::Gradients;
  using Gradients<Real>::head;

  Real centre(std::size_t i) const override { return this->delta(i); }
  Real score_gradient(std::size_t i, std::size_t j, Real p, Real own_delta) const override {
    return Gradients<Real>::score_gradient(i, j, p, own_delta) + p * head.by_lse[i];
  }
};

}  // namespace

// @judged attention_backward f32: plain masked=zero; fail gradient; AttributesAreComputedAsDefined; dq|dk; domain dlse
// softcap
SOFTCHECK_MUTANT mutant_attention_backward_dlse_behind_the_cap(const softcheck_call* call) {
  return gradients_by<DlseBehindTheCap>(call);
}

// The gradient by the log-sum-exp is dropped, as by a kernel that marks lse as not differentiable.
// @judged attention_backward f32: plain masked=zero; fail gradient; AttributesAreComputedAsDefined; dq|dk; domain dlse
GRADIENT_BUG(mutant_attention_backward_dlse_dropped, Real, by_lse(std::size_t) const) { return 0; }

// The gradient by a log-sum-exp in base 2 is used: 1 / ln 2 times the right one.
// @judged attention_backward f32: plain masked=zero; fail gradient; AttributesAreComputedAsDefined; dq|dk; domain dlse
GRADIENT_BUG(mutant_attention_backward_dlse_in_base_2, Real, by_lse(std::size_t i) const) {
  return head.by_lse[i] * static_cast<Real>(1.4426950408889634);
}

// The gradient by lse is stored in bf16, like delta.
// @judged attention_backward f32: plain masked=zero; fail gradient; AttributesAreComputedAsDefined; dq|dk; domain dlse
GRADIENT_BUG(mutant_attention_backward_dlse_in_sixteen_bits, Real, by_lse(std::size_t i) const) {
  return rounded_to_bf16(static_cast<float>(head.by_lse[i]));
}

// The gradient by lse is added to delta: ds = p (g - delta - dlse).
// @judged attention_backward f32: plain masked=zero; fail gradient; AttributesAreComputedAsDefined; dq|dk; domain dlse
GRADIENT_BUG(mutant_attention_backward_dlse_negated, Real, by_lse(std::size_t i) const) { return -head.by_lse[i]; }

// All heads of a group use the gradient by the first head's lse.
// @judged attention_backward f32: plain masked=zero; fail gradient; AttributesAreComputedAsDefined; dq|dk; domain dlse
GRADIENT_BUG(mutant_attention_backward_dlse_of_the_groups_first_head, Real, by_lse(std::size_t i) const) {
  return head.by_lse[i % head.queries];
}

// Every query uses the gradient by the previous query's lse.
// @judged attention_backward f32: plain masked=zero; fail gradient; AttributesAreComputedAsDefined; dq|dk; domain dlse
GRADIENT_BUG(mutant_attention_backward_dlse_of_the_row_before, Real, by_lse(std::size_t i) const) {
  return head.by_lse[i % head.queries == 0 ? i : i - 1];
}

// The gradient by lse is multiplied by the scale, and ds by the scale again.
namespace {

template <class Real>
struct DlseScaled final : Gradients<Real> {
  using Gradients<Real>::Gradients;
  using Gradients<Real>::head;

  Real of_scores = 1;

  Real by_lse(std::size_t i) const override { return of_scores * head.by_lse[i]; }
  void run(Real scale) override {
    of_scores = scale;
    Gradients<Real>::run(scale);
  }
};

}  // namespace

// @judged attention_backward f32: plain masked=zero; fail gradient; AttributesAreComputedAsDefined; dq|dk; domain dlse
SOFTCHECK_MUTANT mutant_attention_backward_dlse_scaled(const softcheck_call* call) {
  return gradients_by<DlseScaled>(call);
}

// A preprocessing pass subtracts the gradient by lse from delta, and the loop over keys subtracts it again.
// @judged attention_backward f32: plain masked=zero; fail gradient; AttributesAreComputedAsDefined; dq|dk; domain dlse
GRADIENT_BUG(mutant_attention_backward_dlse_twice, Real, by_lse(std::size_t i) const) { return 2 * head.by_lse[i]; }

// The gradient by lse is added to every ds of the row, without the key's weight.
namespace {

template <class Real>
struct DlseWithoutP final : Gradients<Real> {
  using Gradients<Real>::Gradients;
  using Gradients<Real>::head;

  Real centre(std::size_t i) const override { return this->delta(i); }
  Real score_gradient(std::size_t i, std::size_t j, Real p, Real own_delta) const override {
    return Gradients<Real>::score_gradient(i, j, p, own_delta) + head.by_lse[i];
  }
};

}  // namespace

// @judged attention_backward f32: plain masked=zero; fail gradient; AttributesAreComputedAsDefined; dq|dk; domain dlse
SOFTCHECK_MUTANT mutant_attention_backward_dlse_without_p(const softcheck_call* call) {
  return gradients_by<DlseWithoutP>(call);
}
