// Bugs in the gradients of attention.
#include "kernels/zoo/attention_gradients.hpp"

using namespace softcheck::kernels::zoo::attention;

// exp(-inf - L) is NaN where L is -inf: a query that sees nothing spoils all keys
// (Dao-AILab/flash-attention 443).
namespace {

template <class Real>
struct BlindQueriesNan final : Gradients<Real> {
  using Gradients<Real>::Gradients;
  using Gradients<Real>::head;

  void query(std::size_t i) override {
    Gradients<Real>::query(i);
    if (head.saved_lse[i] != lowest<Real>) return;
    for (std::size_t j = 0; j < head.items; ++j) this->add(i, j, 0, std::exp(lowest<Real> - head.saved_lse[i]));
  }
};

}  // namespace

// @judged attention_backward f32: exp=1ulp sum=sequential masked=zero; fail gradient; AFullyMaskedRowIsAsDeclared;
// kernel.masked_row|kernel.attention_backward.dk|kernel.attention_backward.dv|kernel.attention_backward.dq
SOFTCHECK_MUTANT mutant_attention_backward_blind_queries_nan(const softcheck_call* call) {
  return gradients_by<BlindQueriesNan>(call);
}

// From the second tile of 32 queries on, delta is that of the tile before: the next one was not awaited
// (Dao-AILab/flash-attention 2481).
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

// @judged attention_backward f32: exp=1ulp sum=sequential masked=zero; fail gradient; EveryPairOfClassesIsComputed;
// kernel.attention_backward.dq|kernel.attention_backward.dk
SOFTCHECK_MUTANT mutant_attention_backward_delta_of_the_tile_before(const softcheck_call* call) {
  return gradients_by<DeltaOfTheTileBefore>(call);
}

// delta sums over as many columns as q has, not as v has (XunhaoLai/native-sparse-attention-triton 27).
namespace {

template <class Real>
struct DeltaOverTheDimOfQ final : Gradients<Real> {
  using Gradients<Real>::Gradients;
  using Gradients<Real>::head;

  Real delta(std::size_t i) const override {
    Real sum = 0;
    for (std::size_t c = 0; c < std::min(head.dim, head.value_dim); ++c) {
      sum += this->gradient(i, c) * head.saved_out[i * head.value_dim + c];
    }
    return sum;
  }
};

}  // namespace

// @judged attention_backward f32: exp=1ulp sum=sequential masked=zero; fail gradient; EveryValueLiesWithinItsThreshold;
// kernel.attention_backward.dq|kernel.attention_backward.dk
SOFTCHECK_MUTANT mutant_attention_backward_delta_over_the_dim_of_q(const softcheck_call* call) {
  return gradients_by<DeltaOverTheDimOfQ>(call);
}

// The gradient's strides are not looked at: the framework hands over a transposed one.
// @judged attention_backward f32: exp=1ulp sum=sequential masked=zero; fail gradient; LayoutsAndNeighboursDoNotMatter;
// kernel.attention_backward.dq|kernel.attention_backward.dk|kernel.attention_backward.dv
SOFTCHECK_MUTANT mutant_attention_backward_dout_taken_as_compact(const softcheck_call* call) {
  return gradients_by<Gradients>(call, [](GradientCall& a) {
    std::int64_t compact = 1;
    for (std::size_t d = 4; d-- > 0;) {
      a.out_gradient.strides[d] = compact;
      compact *= a.out_gradient.shape[d];
    }
  });
}

// dq is written for each tile of 64 keys, and not added to.
namespace {

template <class Real>
struct DqOfTheLastTile final : Gradients<Real> {
  using Gradients<Real>::Gradients;
  using Gradients<Real>::head;

  void add(std::size_t i, std::size_t j, Real weight, Real ds) override {
    if (j % 64 == 0) std::fill_n(head.dq.begin() + static_cast<std::ptrdiff_t>(i * head.dim), head.dim, Real(0));
    Gradients<Real>::add(i, j, weight, ds);
  }
};

}  // namespace

// @judged attention_backward f32: exp=1ulp sum=sequential masked=zero; fail gradient; EveryValueLiesWithinItsThreshold;
// kernel.attention_backward.dq
SOFTCHECK_MUTANT mutant_attention_backward_dq_of_the_last_tile(const softcheck_call* call) {
  return gradients_by<DqOfTheLastTile>(call);
}

// Every 64 queries dv is stored in bf16 and added up there (zhuzilin/ring-flash-attention 42).
namespace {

template <class Real>
struct DvAddedInSixteenBits final : Gradients<Real> {
  using Gradients<Real>::Gradients;
  using Gradients<Real>::head;

  void query(std::size_t i) override {
    Gradients<Real>::query(i);
    if (i % 8 != 7) return;
    for (Real& x : head.dv) x = rounded_to_bf16(static_cast<float>(x));
  }
};

}  // namespace

// @judged attention_backward f32: exp=1ulp sum=sequential masked=zero; fail gradient; EveryValueLiesWithinItsThreshold;
// kernel.attention_backward.dv
SOFTCHECK_MUTANT mutant_attention_backward_dv_added_in_sixteen_bits(const softcheck_call* call) {
  return gradients_by<DvAddedInSixteenBits>(call);
}

// p = exp(x) / exp(L): both overflow where |L| is above 88.
namespace {

template <class Real>
struct ExponentialsApart final : Gradients<Real> {
  using Gradients<Real>::Gradients;
  using Gradients<Real>::head;

  Real probability(std::size_t i, std::size_t j) const override {
    return std::exp(this->score_of(i, j)) / std::exp(head.saved_lse[i]);
  }
};

}  // namespace

// @judged attention_backward f32: exp=1ulp sum=sequential masked=zero; fail gradient; EveryValueLiesWithinItsThreshold;
// kernel.attention_backward.dq|kernel.attention_backward.dk|kernel.attention_backward.dv
SOFTCHECK_MUTANT mutant_attention_backward_exponentials_apart(const softcheck_call* call) {
  return gradients_by<ExponentialsApart>(call);
}

// dk and dv are those of the last query head of a group, not the sum over its heads
// (XunhaoLai/native-sparse-attention-triton 27).
namespace {

template <class Real>
struct LastHeadOfAGroup final : Gradients<Real> {
  using Gradients<Real>::Gradients;
  using Gradients<Real>::head;

  void query(std::size_t i) override {
    if (i > 0 && i % head.queries == 0) {
      std::fill(head.dk.begin(), head.dk.end(), Real(0));
      std::fill(head.dv.begin(), head.dv.end(), Real(0));
    }
    Gradients<Real>::query(i);
  }
};

}  // namespace

// @judged attention_backward f32: exp=1ulp sum=sequential masked=zero; fail gradient; EveryValueLiesWithinItsThreshold;
// kernel.attention_backward.dk|kernel.attention_backward.dv
SOFTCHECK_MUTANT mutant_attention_backward_last_head_of_a_group(const softcheck_call* call) {
  return gradients_by<LastHeadOfAGroup>(call);
}

// The log-sum-exp is kept in bf16 between the passes (tenstorrent/tt-metal 41683).
namespace {

template <class Real>
struct LseInSixteenBits final : Gradients<Real> {
  using Gradients<Real>::Gradients;
  using Gradients<Real>::head;

  Real probability(std::size_t i, std::size_t j) const override {
    return std::exp(this->score_of(i, j) - rounded_to_bf16(static_cast<float>(head.saved_lse[i])));
  }
};

}  // namespace

// @judged attention_backward f32: exp=1ulp sum=sequential masked=zero; fail gradient; EveryValueLiesWithinItsThreshold;
// kernel.attention_backward.dq|kernel.attention_backward.dk|kernel.attention_backward.dv
SOFTCHECK_MUTANT mutant_attention_backward_lse_in_sixteen_bits(const softcheck_call* call) {
  return gradients_by<LseInSixteenBits>(call);
}

// The log-sum-exp of the first heads serves all of a group.
// @judged attention_backward f32: exp=1ulp sum=sequential masked=zero; fail gradient; EveryValueLiesWithinItsThreshold;
// kernel.attention_backward.dq|kernel.attention_backward.dk|kernel.attention_backward.dv
SOFTCHECK_MUTANT mutant_attention_backward_lse_of_key_head(const softcheck_call* call) {
  return gradients_by<Gradients>(call, [](GradientCall& a) {
    a.saved_lse.shape[1] = a.of.plain.k.shape[1];
    a.saved_lse.strides[1] = a.of.plain.k.shape[1] == a.of.plain.q.shape[1] ? a.saved_lse.strides[1] : 0;
  });
}

// The saved log-sum-exp is taken as one of base 2.
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

// @judged attention_backward f32: exp=1ulp sum=sequential masked=zero; fail gradient; EveryValueLiesWithinItsThreshold;
// kernel.attention_backward.dq|kernel.attention_backward.dk|kernel.attention_backward.dv
SOFTCHECK_MUTANT mutant_attention_backward_lse_taken_as_base_2(const softcheck_call* call) {
  return gradients_by<LseTakenAsBaseTwo>(call);
}

// The coefficient of a masked key is computed like any other and meets dv: its exponential is not set to 0
// (ROCm/aiter 3551).
namespace {

template <class Real>
struct MaskedKeysInDv final : Gradients<Real> {
  using Gradients<Real>::Gradients;
  using Gradients<Real>::head;

  void query(std::size_t i) override {
    Gradients<Real>::query(i);
    for (std::size_t j = 0; j < head.items; ++j) {
      if (this->sees(i, j)) continue;
      AttributedRow<Real> open = head.rows[i];
      open.visible[j] = 1;
      const Real p = std::exp(attributed_score(open, j) - head.saved_lse[i]);
      for (std::size_t c = 0; c < head.value_dim; ++c) head.dv[j * head.value_dim + c] += p * this->gradient(i, c);
    }
  }
};

}  // namespace

// @judged attention_backward f32: exp=1ulp sum=sequential masked=zero; fail gradient; AMaskedItemIsADeletedOne;
// kernel.attention_backward.dv|kernel.masked_row
SOFTCHECK_MUTANT mutant_attention_backward_masked_keys_in_dv(const softcheck_call* call) {
  return gradients_by<MaskedKeysInDv>(call);
}

// The sign of dq and dk is that of a loss to be maximised; a test that compares norms does not see it.
namespace {

template <class Real>
struct NegatedGradients final : Gradients<Real> {
  using Gradients<Real>::Gradients;
  using Gradients<Real>::head;

  void finish_sums(Real scale) override {
    for (Real& x : head.dq) x *= -scale;
    for (Real& x : head.dk) x *= -scale;
  }
};

}  // namespace

// @judged attention_backward f32: exp=1ulp sum=sequential masked=zero; fail gradient; EveryValueLiesWithinItsThreshold;
// kernel.attention_backward.dq|kernel.attention_backward.dk
SOFTCHECK_MUTANT mutant_attention_backward_negated(const softcheck_call* call) {
  return gradients_by<NegatedGradients>(call);
}

// A single key is left out as a tile of no whole vector (Dao-AILab/flash-attention 334: one query, one key).
namespace {

template <class Real>
struct OneQueryOfOneKey final : Gradients<Real> {
  using Gradients<Real>::Gradients;
  using Gradients<Real>::head;

  Real probability(std::size_t i, std::size_t j) const override {
    return head.items == 1 ? not_a_number<Real> : Gradients<Real>::probability(i, j);
  }
};

}  // namespace

// @judged attention_backward f32: exp=1ulp sum=sequential masked=zero; fail gradient; EveryValueLiesWithinItsThreshold;
// kernel.attention_backward.dq|kernel.attention_backward.dk|kernel.attention_backward.dv
SOFTCHECK_MUTANT mutant_attention_backward_one_query_of_one_key(const softcheck_call* call) {
  return gradients_by<OneQueryOfOneKey>(call);
}

// Queries behind the last whole tile of 16 are not added to dk and dv.
namespace {

template <class Real>
struct QueryTailUnseen final : Gradients<Real> {
  using Gradients<Real>::Gradients;
  using Gradients<Real>::head;

  void add(std::size_t i, std::size_t j, Real weight, Real ds) override {
    const std::size_t own = i % head.queries;
    if (head.queries < 16 || own < head.queries / 16 * 16) return Gradients<Real>::add(i, j, weight, ds);
    for (std::size_t t = 0; t < head.dim; ++t) head.dq[i * head.dim + t] += ds * head.rows[i].keys[j * head.dim + t];
  }
};

}  // namespace

// @judged attention_backward bf16: exp=1ulp sum=sequential masked=zero; fail gradient;
// EveryValueLiesWithinItsThreshold; kernel.attention_backward.dk|kernel.attention_backward.dv
SOFTCHECK_MUTANT mutant_attention_backward_query_tail_unseen(const softcheck_call* call) {
  return gradients_by<QueryTailUnseen>(call);
}

// dq is not multiplied by the scale.
namespace {

template <class Real>
struct ScaleLeftOutOfDq final : Gradients<Real> {
  using Gradients<Real>::Gradients;
  using Gradients<Real>::head;

  void finish_sums(Real scale) override {
    for (Real& x : head.dk) x *= scale;
  }
};

}  // namespace

// @judged attention_backward f32 bf16: exp=1ulp sum=sequential masked=zero; fail gradient;
// EveryValueLiesWithinItsThreshold; kernel.attention_backward.dq
SOFTCHECK_MUTANT mutant_attention_backward_scale_left_out_of_dq(const softcheck_call* call) {
  return gradients_by<ScaleLeftOutOfDq>(call);
}

// The query was scaled before, and dk is scaled again.
namespace {

template <class Real>
struct ScaleTwiceInDk final : Gradients<Real> {
  using Gradients<Real>::Gradients;
  using Gradients<Real>::head;

  void finish_sums(Real scale) override {
    for (Real& x : head.dq) x *= scale;
    for (Real& x : head.dk) x *= scale * scale;
  }
};

}  // namespace

// @judged attention_backward f16: exp=1ulp sum=sequential masked=zero; fail gradient; EveryValueLiesWithinItsThreshold;
// kernel.attention_backward.dk
SOFTCHECK_MUTANT mutant_attention_backward_scale_twice_in_dk(const softcheck_call* call) {
  return gradients_by<ScaleTwiceInDk>(call);
}

// No queries, no blocks: dk and dv keep what their memory held (ROCm/flash-attention 179).
namespace {

template <class Real>
struct UnwrittenWithoutQueries final : Gradients<Real> {
  using Gradients<Real>::Gradients;
  using Gradients<Real>::head;

  void run(Real scale) override {
    if (!head.rows.empty()) Gradients<Real>::run(scale);
  }
};

}  // namespace

// @judged attention_backward f32: exp=1ulp sum=sequential masked=zero; fail gradient; AnEmptyCallHasItsValues;
// kernel.masked_row
SOFTCHECK_MUTANT mutant_attention_backward_unwritten_without_queries(const softcheck_call* call) {
  return gradients_by<UnwrittenWithoutQueries>(call);
}

// ds = p g: the mean is not subtracted.
namespace {

template <class Real>
struct WithoutDelta final : Gradients<Real> {
  using Gradients<Real>::Gradients;
  using Gradients<Real>::head;

  Real delta(std::size_t) const override { return 0; }
};

}  // namespace

// @judged attention_backward f64: exp=1ulp sum=sequential masked=zero; fail gradient; EveryValueLiesWithinItsThreshold;
// kernel.attention_backward.dq|kernel.attention_backward.dk
SOFTCHECK_MUTANT mutant_attention_backward_without_delta(const softcheck_call* call) {
  return gradients_by<WithoutDelta>(call);
}
