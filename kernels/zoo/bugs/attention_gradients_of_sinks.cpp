// Bugs in the gradients of attention of its sinks.
#include "kernels/zoo/attention_gradients.hpp"

using namespace softcheck::kernels::zoo::attention;

// Partial sums of the gradient by a sink are of 16 bits, as blocks of threads hand them on.
namespace {

template <class Real>
struct SinkAddedNarrowly final : Gradients<Real> {
  using Gradients<Real>::Gradients;
  using Gradients<Real>::head;

  void add_sink(std::size_t g, Real& sum) const override {
    for (std::size_t i = g * head.queries; i < (g + 1) * head.queries; ++i) {
      sum = rounded_to_bf16(static_cast<float>(sum + this->sink_term(i)));
    }
  }
};

}  // namespace

// @judged attention_backward f32: exp=1ulp sum=sequential masked=zero; fail gradient; AttributesAreComputedAsDefined;
// kernel.attention_backward.dsinks; domain dsinks
SOFTCHECK_MUTANT mutant_attention_backward_dsinks_added_in_sixteen_bits(const softcheck_call* call) {
  return gradients_by<SinkAddedNarrowly>(call);
}

// The gradient by a sink has its sign lost: p_sink delta in place of -p_sink delta.
namespace {

template <class Real>
struct SinkNegated final : Gradients<Real> {
  using Gradients<Real>::Gradients;
  using Gradients<Real>::head;

  Real sink_term(std::size_t i) const override { return this->sink_probability(i) * this->delta(i); }
};

}  // namespace

// @judged attention_backward f32: exp=1ulp sum=sequential masked=zero; fail gradient; AttributesAreComputedAsDefined;
// kernel.attention_backward.dsinks; domain dsinks
SOFTCHECK_MUTANT mutant_attention_backward_dsinks_negated(const softcheck_call* call) {
  return gradients_by<SinkNegated>(call);
}

// A query that sees no key counts with the delta of the query before it: the kernel leaves its row before it computes
// delta, and its p_sink is 1.
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

// @judged attention_backward f32: exp=1ulp sum=sequential masked=zero; fail gradient; AttributesAreComputedAsDefined;
// kernel.attention_backward.dsinks; domain dsinks window
SOFTCHECK_MUTANT mutant_attention_backward_dsinks_of_blind_queries(const softcheck_call* call) {
  return gradients_by<SinkOfBlindQuery>(call);
}

// The gradient by a sink is summed over the queries of the first head of its group, as kernels do that launch a block
// for each key head.
namespace {

template <class Real>
struct SinkOfFirstHead final : Gradients<Real> {
  using Gradients<Real>::Gradients;
  using Gradients<Real>::head;

  void add_sink(std::size_t, Real& sum) const override { Gradients<Real>::add_sink(0, sum); }
};

}  // namespace

// @judged attention_backward f32: exp=1ulp sum=sequential masked=zero; fail gradient; AttributesAreComputedAsDefined;
// kernel.attention_backward.dsinks; domain dsinks
SOFTCHECK_MUTANT mutant_attention_backward_dsinks_of_the_groups_first_head(const softcheck_call* call) {
  return gradients_by<SinkOfFirstHead>(call);
}

// The gradient by a sink is not summed over the batch: each batch writes its own over the one before.
namespace {

template <class Real>
struct SinkOfLastBatch final : Gradients<Real> {
  using Gradients<Real>::Gradients;
  using Gradients<Real>::head;

  void add_sink(std::size_t g, Real& sum) const override {
    sum = 0;
    Gradients<Real>::add_sink(g, sum);
  }
};

}  // namespace

// @judged attention_backward f32: exp=1ulp sum=sequential masked=zero; fail gradient; AttributesAreComputedAsDefined;
// kernel.attention_backward.dsinks; domain dsinks
SOFTCHECK_MUTANT mutant_attention_backward_dsinks_of_the_last_batch(const softcheck_call* call) {
  return gradients_by<SinkOfLastBatch>(call);
}

// The sink is scaled like a score before its exponential is taken, in the gradient by it alone.
namespace {

template <class Real>
struct SinkScaled final : Gradients<Real> {
  using Gradients<Real>::Gradients;
  using Gradients<Real>::head;

  Real sink_probability(std::size_t i) const override {
    return std::exp(head.rows[i].scale * *head.rows[i].sink - head.saved_lse[i]);
  }
};

}  // namespace

// @judged attention_backward f32: exp=1ulp sum=sequential masked=zero; fail gradient; AttributesAreComputedAsDefined;
// kernel.attention_backward.dsinks; domain dsinks
SOFTCHECK_MUTANT mutant_attention_backward_dsinks_scaled(const softcheck_call* call) {
  return gradients_by<SinkScaled>(call);
}

// The gradient by a sink is minus the sum of p_sink: delta is left out, which a loss that is the sum of outputs of 1
// hides.
namespace {

template <class Real>
struct SinkWithoutDelta final : Gradients<Real> {
  using Gradients<Real>::Gradients;
  using Gradients<Real>::head;

  Real sink_term(std::size_t i) const override { return -this->sink_probability(i); }
};

}  // namespace

// @judged attention_backward f32: exp=1ulp sum=sequential masked=zero; fail gradient; AttributesAreComputedAsDefined;
// kernel.attention_backward.dsinks; domain dsinks
SOFTCHECK_MUTANT mutant_attention_backward_dsinks_without_delta(const softcheck_call* call) {
  return gradients_by<SinkWithoutDelta>(call);
}

// The gradient by a sink is 0, as the backward pass does not know of it (NVIDIA/TransformerEngine 3551).
namespace {

template <class Real>
struct SinkWithoutGradient final : Gradients<Real> {
  using Gradients<Real>::Gradients;
  using Gradients<Real>::head;

  Real sink_term(std::size_t) const override { return 0; }
};

}  // namespace

// @judged attention_backward f32: exp=1ulp sum=sequential masked=zero; fail gradient; AttributesAreComputedAsDefined;
// kernel.attention_backward.dsinks; domain dsinks
SOFTCHECK_MUTANT mutant_attention_backward_dsinks_zero(const softcheck_call* call) {
  return gradients_by<SinkWithoutGradient>(call);
}
