// Bugs in the attributes of attention's gradients.
#include "kernels/zoo/attention_gradients.hpp"

using namespace softcheck::kernels::zoo::attention;

// ALiBi is added where the forward pass subtracted it.
namespace {

template <class Real>
struct BackwardAlibiSign final : Gradients<Real> {
  using Gradients<Real>::Gradients;
  using Gradients<Real>::head;

  Real probability(std::size_t i, std::size_t j) const override {
    AttributedRow<Real> row = head.rows[i];
    row.slope = -row.slope;
    return std::exp(attributed_score(row, j) - head.saved_lse[i]);
  }
};

}  // namespace

// @judged attention_backward f32: exp=1ulp sum=sequential masked=zero; fail gradient; AttributesAreComputedAsDefined;
// kernel.attention_backward.dq|kernel.attention_backward.dk|kernel.attention_backward.dv; domain alibi
SOFTCHECK_MUTANT mutant_attention_backward_alibi_sign(const softcheck_call* call) {
  return gradients_by<BackwardAlibiSign>(call);
}

// The bias that the forward pass added is not added again.
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

// @judged attention_backward f32: exp=1ulp sum=sequential masked=zero; fail gradient; AttributesAreComputedAsDefined;
// kernel.attention_backward.dq|kernel.attention_backward.dk|kernel.attention_backward.dv; domain bias
SOFTCHECK_MUTANT mutant_attention_backward_bias_left_out(const softcheck_call* call) {
  return gradients_by<BiasLeftOut>(call);
}

// Causal with other lengths aligns the first query with the first key: the forward pass aligned the last ones
// (ml-explore/mlx 2835).
// @judged attention_backward f32: exp=1ulp sum=sequential masked=zero; fail gradient; EveryPairOfClassesIsComputed;
// kernel.attention_backward.dq|kernel.attention_backward.dk|kernel.attention_backward.dv|kernel.masked_row
SOFTCHECK_MUTANT mutant_attention_backward_causal_top_left(const softcheck_call* call) {
  return gradients_by<Gradients>(call, [](GradientCall& a) { a.of.plain.diagonal = 0; });
}

// The sum is computed again, and the sink is not in it (NVIDIA/TransformerEngine 3551 drops it in the backward pass).
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

// @judged attention_backward f32: exp=1ulp sum=sequential masked=zero; fail gradient; AttributesAreComputedAsDefined;
// kernel.attention_backward.dq|kernel.attention_backward.dk|kernel.attention_backward.dv; domain sinks
SOFTCHECK_MUTANT mutant_attention_backward_sink_not_in_sum(const softcheck_call* call) {
  return gradients_by<SinkNotInSum>(call);
}

// The gradient goes past the softcap as if it were not there.
namespace {

template <class Real>
struct SoftcapSlopeLeftOut final : Gradients<Real> {
  using Gradients<Real>::Gradients;
  using Gradients<Real>::head;

  Real score_gradient(std::size_t i, std::size_t j, Real p, Real own_delta) const override {
    return p * (this->product(i, j) - own_delta);
  }
};

}  // namespace

// @judged attention_backward f32: exp=1ulp sum=sequential masked=zero; fail gradient; AttributesAreComputedAsDefined;
// kernel.attention_backward.dq|kernel.attention_backward.dk; domain softcap
SOFTCHECK_MUTANT mutant_attention_backward_softcap_slope_left_out(const softcheck_call* call) {
  return gradients_by<SoftcapSlopeLeftOut>(call);
}

// 1 - y^2 of the capped score y itself, not of y / softcap.
namespace {

template <class Real>
struct SoftcapSlopeOfCapped final : Gradients<Real> {
  using Gradients<Real>::Gradients;
  using Gradients<Real>::head;

  Real score_gradient(std::size_t i, std::size_t j, Real p, Real own_delta) const override {
    const AttributedRow<Real>& row = head.rows[i];
    const Real y = row.softcap == 0 ? 0 : capped(score<Real>(row, j), row.softcap);
    return p * (this->product(i, j) - own_delta) * (1 - y * y);
  }
};

}  // namespace

// @judged attention_backward f32: exp=1ulp sum=sequential masked=zero; fail gradient; AttributesAreComputedAsDefined;
// kernel.attention_backward.dq|kernel.attention_backward.dk; domain softcap
SOFTCHECK_MUTANT mutant_attention_backward_softcap_slope_of_capped(const softcheck_call* call) {
  return gradients_by<SoftcapSlopeOfCapped>(call);
}

// Coefficients meet dv in bf16, and the contract does not say so.
namespace {

template <class Real>
struct WeightsWithoutWord final : Gradients<Real> {
  using Gradients<Real>::Gradients;
  using Gradients<Real>::head;

  Real stored_weight(Real p) const override { return rounded_to_bf16(static_cast<float>(p)); }
};

}  // namespace

// @judged attention_backward f32: exp=1ulp sum=sequential masked=zero; fail gradient; EveryValueLiesWithinItsThreshold;
// kernel.attention_backward.dv
SOFTCHECK_MUTANT mutant_attention_backward_weights_without_word(const softcheck_call* call) {
  return gradients_by<WeightsWithoutWord>(call);
}

// The forward pass has the window, its gradient does not.
// @judged attention_backward f32: exp=1ulp sum=sequential masked=zero; fail gradient; AttributesAreComputedAsDefined;
// kernel.attention_backward.dq|kernel.attention_backward.dk|kernel.attention_backward.dv|kernel.masked_row; domain
// window
SOFTCHECK_MUTANT mutant_attention_backward_window_ignored(const softcheck_call* call) {
  return gradients_by<Gradients>(call, [](GradientCall& a) { a.of.left = a.of.right = -1; });
}

// The gradient's window counts the query's own key apart.
// @judged attention_backward f32: exp=1ulp sum=sequential masked=zero; fail gradient; AttributesAreComputedAsDefined;
// kernel.attention_backward.dq|kernel.attention_backward.dk|kernel.attention_backward.dv|kernel.masked_row; domain
// window
SOFTCHECK_MUTANT mutant_attention_backward_window_one_key_more(const softcheck_call* call) {
  return gradients_by<Gradients>(call, [](GradientCall& a) {
    if (a.of.left >= 0) ++a.of.left;
  });
}
