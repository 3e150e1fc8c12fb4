// Bugs in the gradients of attention.
#include "kernels/zoo/attention_gradients.hpp"

using namespace softcheck::kernels::zoo::attention;

// exp(-inf - L) is NaN if L is -inf: a query that sees no key makes the gradients of all keys NaN
// (Dao-AILab/flash-attention 443).
// @judged attention_backward f32: plain masked=zero; fail gradient; AFullyMaskedRowIsAsDeclared;
// kernel.masked_row|dk|dv|dq
GRADIENT_BUG(mutant_attention_backward_blind_queries_nan, void, query(std::size_t i)) {
  Gradients<Real>::query(i);
  if (head.saved_lse[i] != lowest<Real>) return;
  for (std::size_t j = 0; j < head.items; ++j) this->add(i, j, 0, std::exp(lowest<Real> - head.saved_lse[i]));
}

// From the second tile of 32 queries on, delta is that of the tile before: the next one was not awaited
// (Dao-AILab/flash-attention 2481).
// @judged attention_backward f32: plain masked=zero; fail gradient; EveryPairOfClassesIsComputed; dq|dk
GRADIENT_BUG(mutant_attention_backward_delta_of_the_tile_before, Real, delta(std::size_t i) const) {
  const std::size_t own = i % head.queries;
  return Gradients<Real>::delta(own >= 32 ? i - 32 : i);
}

// delta sums over as many columns as q has, not as v has (XunhaoLai/native-sparse-attention-triton 27).
// @judged attention_backward f32: plain masked=zero; fail gradient; dq|dk
GRADIENT_BUG(mutant_attention_backward_delta_over_the_dim_of_q, Real, delta(std::size_t i) const) {
  Real sum = 0;
  for (std::size_t c = 0; c < std::min(head.dim, head.value_dim); ++c) {
    sum += this->gradient(i, c) * head.saved_out[i * head.value_dim + c];
  }
  return sum;
}

// The kernel ignores the gradient's strides: the framework passes a transposed one.
// @judged attention_backward f32: plain masked=zero; fail gradient; LayoutsAndNeighboursDoNotMatter
BUG(mutant_attention_backward_dout_taken_as_compact, gradients_of_changed_call) {
  std::int64_t compact = 1;
  for (std::size_t d = 4; d-- > 0;) {
    a.out_gradient.strides[d] = compact;
    compact *= a.out_gradient.shape[d];
  }
}

// dq is written for each tile of 64 keys, and not added to.
// @judged attention_backward f32: plain masked=zero; fail gradient; dq
GRADIENT_BUG(mutant_attention_backward_dq_of_the_last_tile, void,
             add(std::size_t i, std::size_t j, Real weight, Real ds)) {
  if (j % 64 == 0) std::fill_n(head.dq.begin() + static_cast<std::ptrdiff_t>(i * head.dim), head.dim, Real(0));
  Gradients<Real>::add(i, j, weight, ds);
}

// Every 64 queries dv is stored in bf16 and added up there (zhuzilin/ring-flash-attention 42).
// @judged attention_backward f32: plain masked=zero; fail gradient; dv
GRADIENT_BUG(mutant_attention_backward_dv_added_in_sixteen_bits, void, query(std::size_t i)) {
  Gradients<Real>::query(i);
  if (i % 8 != 7) return;
  for (Real& x : head.dv) x = rounded_to_bf16(static_cast<float>(x));
}

// p = exp(x) / exp(L): both overflow where |L| is above 88.
// @judged attention_backward f32: plain masked=zero; fail gradient
GRADIENT_BUG(mutant_attention_backward_exponentials_apart, Real, probability(std::size_t i, std::size_t j) const) {
  return std::exp(this->score_of(i, j)) / std::exp(head.saved_lse[i]);
}

// dk and dv are those of the last query head of a group, not the sum over its heads
// (XunhaoLai/native-sparse-attention-triton 27).
// @judged attention_backward f32: plain masked=zero; fail gradient; dk|dv
GRADIENT_BUG(mutant_attention_backward_last_head_of_a_group, void, query(std::size_t i)) {
  if (i > 0 && i % head.queries == 0) {
    std::fill(head.dk.begin(), head.dk.end(), Real(0));
    std::fill(head.dv.begin(), head.dv.end(), Real(0));
  }
  Gradients<Real>::query(i);
}

// The log-sum-exp is stored in bf16 between the passes (tenstorrent/tt-metal 41683).
// @judged attention_backward f32: plain masked=zero; fail gradient
GRADIENT_BUG(mutant_attention_backward_lse_in_sixteen_bits, Real, probability(std::size_t i, std::size_t j) const) {
  return std::exp(this->score_of(i, j) - rounded_to_bf16(static_cast<float>(head.saved_lse[i])));
}

// The log-sum-exp of the first heads serves all of a group.
// @judged attention_backward f32: plain masked=zero; fail gradient
BUG(mutant_attention_backward_lse_of_key_head, gradients_of_changed_call) {
  a.saved_lse.shape[1] = a.of.plain.k.shape[1];
  a.saved_lse.strides[1] = a.of.plain.k.shape[1] == a.of.plain.q.shape[1] ? a.saved_lse.strides[1] : 0;
}

// The saved log-sum-exp is taken as one of base 2.
// @judged attention_backward f32: plain masked=zero; fail gradient
GRADIENT_BUG(mutant_attention_backward_lse_taken_as_base_2, Real, probability(std::size_t i, std::size_t j) const) {
  return std::exp2(this->score_of(i, j) * static_cast<Real>(1.4426950408889634) - head.saved_lse[i]);
}

// The coefficient of a masked key is computed like any other and used for dv: its exponential is not set to 0
// (ROCm/aiter 3551).
// @judged attention_backward f32: plain masked=zero; fail gradient; AMaskedItemIsADeletedOne; dv|kernel.masked_row
GRADIENT_BUG(mutant_attention_backward_masked_keys_in_dv, void, query(std::size_t i)) {
  Gradients<Real>::query(i);
  for (std::size_t j = 0; j < head.items; ++j) {
    if (this->sees(i, j)) continue;
    AttributedRow<Real> open = head.rows[i];
    open.visible[j] = 1;
    const Real p = std::exp(attributed_score(open, j) - head.saved_lse[i]);
    for (std::size_t c = 0; c < head.value_dim; ++c) head.dv[j * head.value_dim + c] += p * this->gradient(i, c);
  }
}

// dq and dk have the opposite sign, as for a loss to be maximised; a test that compares norms does not notice.
// @judged attention_backward f32: plain masked=zero; fail gradient; dq|dk
GRADIENT_BUG(mutant_attention_backward_negated, void, finish_sums(Real scale)) {
  for (Real& x : head.dq) x *= -scale;
  for (Real& x : head.dk) x *= -scale;
}

// A single key is left out as a tile of no whole vector (Dao-AILab/flash-attention 334: one query, one key).
// @judged attention_backward f32: plain masked=zero; fail gradient
GRADIENT_BUG(mutant_attention_backward_one_query_of_one_key, Real, probability(std::size_t i, std::size_t j) const) {
  return head.items == 1 ? not_a_number<Real> : Gradients<Real>::probability(i, j);
}

// Queries after the last whole tile of 16 are not added to dk and dv.
// @judged attention_backward bf16: plain masked=zero; fail gradient; dk|dv
GRADIENT_BUG(mutant_attention_backward_query_tail_unseen, void,
             add(std::size_t i, std::size_t j, Real weight, Real ds)) {
  const std::size_t own = i % head.queries;
  if (head.queries < 16 || own < head.queries / 16 * 16) return Gradients<Real>::add(i, j, weight, ds);
  for (std::size_t t = 0; t < head.dim; ++t) head.dq[i * head.dim + t] += ds * head.rows[i].keys[j * head.dim + t];
}

// dq is not multiplied by the scale.
// @judged attention_backward f32 bf16: plain masked=zero; fail gradient; dq
GRADIENT_BUG(mutant_attention_backward_scale_left_out_of_dq, void, finish_sums(Real scale)) {
  for (Real& x : head.dk) x *= scale;
}

// The query was scaled before, and dk is scaled again.
// @judged attention_backward f16: plain masked=zero; fail gradient; dk
GRADIENT_BUG(mutant_attention_backward_scale_twice_in_dk, void, finish_sums(Real scale)) {
  for (Real& x : head.dq) x *= scale;
  for (Real& x : head.dk) x *= scale * scale;
}

// Without queries no block runs: dk and dv keep the previous contents of their memory (ROCm/flash-attention 179).
// @judged attention_backward f32: plain masked=zero; fail gradient; AnEmptyCallHasItsValues
GRADIENT_BUG(mutant_attention_backward_unwritten_without_queries, void, run(Real scale)) {
  if (!head.rows.empty()) Gradients<Real>::run(scale);
}

// ds = p g: the mean is not subtracted.
// @judged attention_backward f64: plain masked=zero; fail gradient; dq|dk
GRADIENT_BUG(mutant_attention_backward_without_delta, Real, delta(std::size_t) const) { return 0; }

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

// Aws-neuron/nki-samples 81: delta from weights that the dropout has dropped twice: its keys count by the square.
// @judged attention_backward f32: plain masked=zero; fail attributes; domain dropout
GRADIENT_BUG(mutant_attention_backward_dropout_in_delta_twice, Real, delta(std::size_t i) const) {
  Real sum = 0;
  for (std::size_t j = 0; j < head.items; ++j) {
    if (this->sees(i, j)) sum += this->probability(i, j) * this->factor(i, j) * this->product(i, j);
  }
  return sum;
}

// The gradient by the values has the weights before the dropout.
// @judged attention_backward f32: plain masked=zero; fail attributes; dv; domain dropout
GRADIENT_BUG(mutant_attention_backward_dropout_not_in_dv, Real,
             value_factor([[maybe_unused]] std::size_t i, [[maybe_unused]] std::size_t j) const) {
  return 1;
}

// Kept weights are not multiplied by the scale.
// @judged attention_backward f32: plain masked=zero; fail attributes; domain dropout
GRADIENT_BUG(mutant_attention_backward_dropout_without_scale, Real, factor(std::size_t i, std::size_t j) const) {
  return dropout_factor(head.rows[i], j) == 0 ? 0 : 1;
}
