// Correct kernels of attention's gradients.
#include "kernels/zoo/attention_packed_gradients.hpp"

using namespace softcheck::kernels::zoo::attention;

// Correct under exp=E:4,A:4: exp2 of scores and log-sum-exp times log2 e.
// @judged attention_backward f32: exp=E:4,A:4 sum=sequential masked=zero; pass
// @judged attention_backward f32: exp=E:4,A:4 sum=sequential masked=zero; pass; domain dsinks
// @judged attention_backward f32: exp=E:4,A:4 sum=sequential masked=zero; pass; domain dbias softcap
GRADIENT_BUG(attention_backward_correct_base_2, Real, probability(std::size_t i, std::size_t j) const) {
  const Real to_base_2 = static_cast<Real>(1.4426950408889634);
  return std::exp2(this->score_of(i, j) * to_base_2 - head.saved_lse[i] * to_base_2);
}

// Correct under sum=sequential: tiles of keys from the last to the first, all queries for each, the scale applied to
// ds. Kernels work so that give each block of threads a tile of keys and add dq atomically.
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

// @judged attention_backward f32 f16: plain masked=zero; pass
SOFTCHECK_MUTANT attention_backward_correct_by_keys(const softcheck_call* call) {
  return gradients_by<ByKeysGradients>(call);
}

// Correct under sum=sequential: the gradients through out and through the log-sum-exp are computed separately and
// added, like autograd's.
namespace {

template <class Real>
struct DlseApart final : Gradients<Real> {
  using Gradients<Real>::Gradients;
  using Gradients<Real>::head;

  Real centre(std::size_t i) const override { return this->delta(i); }
  Real score_gradient(std::size_t i, std::size_t j, Real p, Real own_delta) const override {
    return Gradients<Real>::score_gradient(i, j, p, own_delta) + p * head.by_lse[i] * this->slope_of(i, j);
  }
};

}  // namespace

// @judged attention_backward f32: plain masked=zero; pass; domain dlse softcap
SOFTCHECK_MUTANT attention_backward_correct_dlse_apart(const softcheck_call* call) {
  return gradients_by<DlseApart>(call);
}

// Correct under sum=sequential: the gradient by lse is added to g before delta is subtracted.
namespace {

template <class Real>
struct DlseFirst final : Gradients<Real> {
  using Gradients<Real>::Gradients;
  using Gradients<Real>::head;

  Real centre(std::size_t i) const override { return this->delta(i); }
  Real score_gradient(std::size_t i, std::size_t j, Real p, Real own_delta) const override {
    return p * ((this->product(i, j) + head.by_lse[i]) - own_delta) * this->slope_of(i, j);
  }
};

}  // namespace

// @judged attention_backward f32: plain masked=zero; pass; domain dlse softcap
SOFTCHECK_MUTANT attention_backward_correct_dlse_first(const softcheck_call* call) {
  return gradients_by<DlseFirst>(call);
}

// Correct under weights=bf16 ds=bf16: coefficients and their gradients have 16 bits in matrix products, as on tensor
// cores.
namespace {

template <class Real>
struct NarrowGradients final : Gradients<Real> {
  using Gradients<Real>::Gradients;
  using Gradients<Real>::head;

  Real stored_weight(Real p) const override { return rounded_to_bf16(static_cast<float>(p)); }
  Real sink_term(std::size_t i) const override {
    return rounded_to_bf16(static_cast<float>(Gradients<Real>::sink_term(i)));
  }
  Real score_gradient(std::size_t i, std::size_t j, Real p, Real own_delta) const override {
    return rounded_to_bf16(static_cast<float>(p * (this->product(i, j) - own_delta) * this->slope_of(i, j)));
  }
};

}  // namespace

// @judged attention_backward bf16 f32: plain masked=zero weights=bf16 ds=bf16; pass
// @judged attention_backward bf16: plain masked=zero weights=bf16 ds=bf16; pass; domain dsinks
// @judged attention_backward bf16: plain masked=zero weights=bf16 ds=bf16; pass; domain dbias
// @judged attention_backward bf16: plain masked=zero weights=bf16 ds=bf16; pass; domain dlse
SOFTCHECK_MUTANT attention_backward_correct_narrow(const softcheck_call* call) {
  return gradients_by<NarrowGradients>(call);
}

// Correct under sum=sequential: no saved value is read. Maximum and sum are computed again, and delta is sum p g.
namespace {

template <class Real>
struct RecomputedGradients final : Gradients<Real> {
  using Gradients<Real>::Gradients;
  using Gradients<Real>::head;
  std::vector<Real> sink_terms;

  Real sink_term(std::size_t i) const override { return sink_terms[i]; }
  void query(std::size_t i) override {
    const std::vector<Real> x = scores_by(head.rows[i], usual_score);
    Real m = largest(x);
    if (head.rows[i].sink && !std::isnan(m)) m = std::max(m, *head.rows[i].sink);
    std::vector<Real> p, g;
    const Real of_sink = head.rows[i].sink ? std::exp(*head.rows[i].sink - m) : 0;
    Real sum = of_sink, delta = 0;
    for (std::size_t j = 0; j < head.items; ++j) {
      p.push_back(this->sees(i, j) ? std::exp(x[j] - m) : 0);
      sum += p[j];
    }
    for (std::size_t j = 0; j < head.items; ++j) {
      g.push_back(this->sees(i, j) ? this->product(i, j) : 0);
      p[j] = this->sees(i, j) ? p[j] / sum : 0;
      delta += p[j] * g[j];
    }
    sink_terms.push_back(sum == 0 ? 0 : of_sink / sum * -delta);
    for (std::size_t j = 0; j < head.items; ++j) {
      if (this->sees(i, j)) this->add(i, j, p[j], p[j] * (g[j] - delta) * this->slope_of(i, j));
    }
  }
};

}  // namespace

// @judged attention_backward f32: plain masked=zero; pass; domain window softcap sinks alibi bias causal=either
// @judged attention_backward f32: plain masked=zero; pass; domain dsinks window
// @judged attention_backward f32: plain masked=zero; pass; domain dbias window
SOFTCHECK_MUTANT attention_backward_correct_recomputed(const softcheck_call* call) {
  return gradients_by<RecomputedGradients>(call);
}

// Correct under sum=sequential: coefficients from the saved log-sum-exp, delta from the saved output.
// @judged attention_backward f16: plain masked=zero; pass
// @judged attention_backward f32 f64 bf16: plain masked=zero; pass; domain dropout
// @judged attention_backward f32: plain masked=zero; pass; domain keys>=1 nomask nocausal
// @judged attention_backward f32: plain masked=zero; pass; domain dropout dsinks dbias softcap
// @judged attention_backward f32 f64 bf16 8bits: plain masked=zero; pass; domain window softcap sinks alibi bias
// causal=either
// @judged attention_backward f32: plain masked=zero; pass; domain window softcap dsinks alibi bias causal=either
// @judged attention_backward f64 f16: plain masked=zero; pass; domain dsinks
// @judged attention_backward f32: plain masked=zero; pass; domain window softcap dsinks alibi dbias causal=either
// @judged attention_backward f64: plain masked=zero; pass; domain dbias
// @judged attention_backward f16: plain masked=zero; pass; domain dbias softcap
// @judged attention_backward f32: plain masked=zero; pass; domain window softcap sinks alibi bias dlse causal=either
// @judged attention_backward f64: plain masked=zero; pass; domain dlse softcap dbias
// @judged attention_backward f16: plain masked=zero; pass; domain dlse
SOFTCHECK_MUTANT attention_backward_correct_saved(const softcheck_call* call) { return gradients_by<Gradients>(call); }

// Correct under sum=sequential: each sequence is computed like a separate call, from the saved values.
// @judged attention_backward f32 bf16: plain masked=zero; pass; domain packed
// @judged attention_backward f64: plain masked=zero; pass; domain packed dsinks
// @judged attention_backward f32: plain masked=zero; pass; domain packed window softcap dsinks alibi causal=either
// @judged attention_backward f32: plain masked=zero; pass; domain packed dlse window
SOFTCHECK_MUTANT attention_packed_backward_correct(const softcheck_call* call) {
  return packed_gradients(call, unchanged_gradients, unchanged_gradient_sequence, unchanged_head);
}
