// Bugs in the gradients of attention of its bias.
#include "kernels/zoo/attention_gradients.hpp"

using namespace softcheck::kernels::zoo::attention;

// The sum over heads that share a bias is kept in 16 bits.
namespace {

template <class Real>
struct BiasAddedNarrowly final : Gradients<Real> {
  using Gradients<Real>::Gradients;
  using Gradients<Real>::head;

  void add_bias(std::size_t i, Real* sums) const override {
    const Real own_delta = this->delta(i);
    for (std::size_t j = 0; j < head.items; ++j) {
      if (!this->sees(i, j)) continue;
      const Real term = this->bias_term(i, j, this->probability(i, j), own_delta);
      sums[j] = rounded_to_bf16(static_cast<float>(sums[j] + term));
    }
  }
};

}  // namespace

// @judged attention_backward f32: exp=1ulp sum=sequential masked=zero; fail gradient; AttributesAreComputedAsDefined;
// kernel.attention_backward.dbias; domain dbias
SOFTCHECK_MUTANT mutant_attention_backward_dbias_added_in_sixteen_bits(const softcheck_call* call) {
  return gradients_by<BiasAddedNarrowly>(call);
}

// The gradient by the bias has its sign lost.
namespace {

template <class Real>
struct BiasNegated final : Gradients<Real> {
  using Gradients<Real>::Gradients;
  using Gradients<Real>::head;

  Real bias_term(std::size_t i, std::size_t j, Real p, Real own_delta) const override {
    return p * (own_delta - this->product(i, j));
  }
};

}  // namespace

// @judged attention_backward f32: exp=1ulp sum=sequential masked=zero; fail gradient; AttributesAreComputedAsDefined;
// kernel.attention_backward.dbias; domain dbias
SOFTCHECK_MUTANT mutant_attention_backward_dbias_negated(const softcheck_call* call) {
  return gradients_by<BiasNegated>(call);
}

// Keys that the mask hides have a gradient by the bias, too: p is not masked again.
namespace {

template <class Real>
struct BiasOfHiddenKeys final : Gradients<Real> {
  using Gradients<Real>::Gradients;
  using Gradients<Real>::head;

  void add_bias(std::size_t i, Real* sums) const override {
    bool any = false;
    for (std::size_t j = 0; j < head.items; ++j) any = any || this->sees(i, j);
    const Real own_delta = this->delta(i);
    for (std::size_t j = 0; j < head.items && any; ++j) {
      sums[j] += this->bias_term(i, j, this->probability(i, j), own_delta);
    }
  }
};

}  // namespace

// @judged attention_backward f32: exp=1ulp sum=sequential masked=zero; fail gradient; AKeyBesideTheWindowIsNotThere;
// kernel.masked_row; domain dbias window
SOFTCHECK_MUTANT mutant_attention_backward_dbias_of_hidden_keys(const softcheck_call* call) {
  return gradients_by<BiasOfHiddenKeys>(call);
}

// Every batch writes the gradient by the bias of the first one: the batch is left out of its address, and the last one
// stays. The others hold what their memory held.
namespace {

template <class Real>
struct BiasOfABatch final : Gradients<Real> {
  using Gradients<Real>::Gradients;
};

}  // namespace

// @judged attention_backward f32: exp=1ulp sum=sequential masked=zero; fail gradient; AttributesAreComputedAsDefined;
// kernel.attention_backward.dbias; domain dbias
SOFTCHECK_MUTANT mutant_attention_backward_dbias_of_the_last_batch(const softcheck_call* call) {
  return gradients_by<BiasOfABatch>(call, [](GradientCall& a) {
    if (a.dbias) a.dbias->strides[0] = 0;
  });
}

// A bias that heads share has the gradient of the last of them: each stores its own in place of adding it (the class of
// flash-sparse-attention 199).
namespace {

template <class Real>
struct BiasOfTheLastHead final : Gradients<Real> {
  using Gradients<Real>::Gradients;
  using Gradients<Real>::head;

  void add_bias(std::size_t i, Real* sums) const override {
    const Real own_delta = this->delta(i);
    for (std::size_t j = 0; j < head.items; ++j) {
      sums[j] = this->sees(i, j) ? this->bias_term(i, j, this->probability(i, j), own_delta) : 0;
    }
  }
};

}  // namespace

// @judged attention_backward f32: exp=1ulp sum=sequential masked=zero; fail gradient; AttributesAreComputedAsDefined;
// kernel.attention_backward.dbias; domain dbias
SOFTCHECK_MUTANT mutant_attention_backward_dbias_of_the_last_head(const softcheck_call* call) {
  return gradients_by<BiasOfTheLastHead>(call);
}

// The gradient by the bias is p: the softmax, not its gradient.
namespace {

template <class Real>
struct BiasIsTheSoftmax final : Gradients<Real> {
  using Gradients<Real>::Gradients;
  using Gradients<Real>::head;

  Real bias_term(std::size_t, std::size_t, Real p, Real) const override { return p; }
};

}  // namespace

// @judged attention_backward f32: exp=1ulp sum=sequential masked=zero; fail gradient; AttributesAreComputedAsDefined;
// kernel.attention_backward.dbias; domain dbias
SOFTCHECK_MUTANT mutant_attention_backward_dbias_of_the_saved_softmax(const softcheck_call* call) {
  return gradients_by<BiasIsTheSoftmax>(call);
}

// The gradient by the bias has the slope of the softcap, which the bias stands behind.
namespace {

template <class Real>
struct BiasThroughTheCap final : Gradients<Real> {
  using Gradients<Real>::Gradients;
  using Gradients<Real>::head;

  Real bias_term(std::size_t i, std::size_t j, Real p, Real own_delta) const override {
    return this->score_gradient(i, j, p, own_delta);
  }
};

}  // namespace

// @judged attention_backward f32: exp=1ulp sum=sequential masked=zero; fail gradient; AttributesAreComputedAsDefined;
// kernel.attention_backward.dbias; domain dbias softcap
SOFTCHECK_MUTANT mutant_attention_backward_dbias_through_the_cap(const softcheck_call* call) {
  return gradients_by<BiasThroughTheCap>(call);
}

// The gradient by the bias is p g: delta is not subtracted.
namespace {

template <class Real>
struct BiasWithoutDelta final : Gradients<Real> {
  using Gradients<Real>::Gradients;
  using Gradients<Real>::head;

  Real bias_term(std::size_t i, std::size_t j, Real p, Real) const override { return p * this->product(i, j); }
};

}  // namespace

// @judged attention_backward f32: exp=1ulp sum=sequential masked=zero; fail gradient; AttributesAreComputedAsDefined;
// kernel.attention_backward.dbias; domain dbias
SOFTCHECK_MUTANT mutant_attention_backward_dbias_without_delta(const softcheck_call* call) {
  return gradients_by<BiasWithoutDelta>(call);
}
