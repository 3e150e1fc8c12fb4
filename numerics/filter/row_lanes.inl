// Vector code that the filter and the double-double stage share; included once per instruction set.
#if defined(SOFTCHECK_NUMERICS_ROW_LANES_INL_) == defined(HWY_TARGET_TOGGLE)
#ifdef SOFTCHECK_NUMERICS_ROW_LANES_INL_
#undef SOFTCHECK_NUMERICS_ROW_LANES_INL_
#else
#define SOFTCHECK_NUMERICS_ROW_LANES_INL_
#endif

#include <hwy/highway.h>

#include <limits>

#include "numerics/filter/row_stages.hpp"

HWY_BEFORE_NAMESPACE();
namespace softcheck::numerics::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;
using Lanes = hn::ScalableTag<double>;
using Real = hn::Vec<Lanes>;
using Whole = hn::Vec<hn::RebindToSigned<Lanes>>;

HWY_INLINE Real load(Lanes d, const double* from) { return hn::LoadU(d, from); }
HWY_INLINE Real load(Lanes d, const float* from) {
  const hn::Rebind<float, Lanes> half;
  return hn::PromoteTo(d, hn::LoadU(half, from));
}

/// Loads the last count <= Lanes() values and fills the rest: with -inf, a masked item of weight 0, so that sums need
/// no mask.
template <class T>
HWY_INLINE Real load_tail(Lanes d, const T* from, std::size_t count, T fill) {
  HWY_ALIGN T buffer[HWY_MAX_BYTES / sizeof(double)];
  for (std::size_t i = 0; i < hn::Lanes(d); ++i) buffer[i] = i < count ? from[i] : fill;
  return load(d, buffer);
}

// 1.5 * 2^52: adding it rounds to an integer, which is then in the low bits.
constexpr double rounding_shift = 0x1.8p52;
constexpr double log2_e = 0x1.71547652b82fep+0;
// ln 2 = first + rest: first has 42 bits, so that k * first is exact for |k| <= 2^11.
constexpr double ln_2_first = 0x1.62e42fefa3800p-1;

/// k = round(-D log2 e) and -D - k ln_2_first, exactly; bits holds k in its low 12 bits.
struct Reduced {
  Real count;
  Real rest;
  Whole bits;
};

HWY_INLINE Reduced reduce(Lanes d, Real deviation) {
  const hn::RebindToSigned<Lanes> di;
  const Real shift = hn::Set(d, rounding_shift);
  const Real shifted = hn::NegMulAdd(deviation, hn::Set(d, log2_e), shift);
  const Real count = hn::Sub(shifted, shift);
  const Real rest = hn::NegMulAdd(count, hn::Set(d, ln_2_first), hn::Neg(deviation));
  return {count, rest, hn::BitCast(di, shifted)};
}

// 2^-48 = 32 units covers the roundings on both sides of a comparison.
constexpr double roundings = 1 + 0x1p-48;

HWY_INLINE Real exponent_field(Lanes d) {
  const hn::RebindToUnsigned<Lanes> du;
  return hn::BitCast(d, hn::Set(du, 0x7ff0000000000000u));
}

/// The part of the tolerance that is independent of p.
HWY_INLINE Real absolute_part(Lanes d, const stages::JudgeParameters& of, Real got) {
  const Real flushed = hn::IfThenElseZero(hn::Eq(got, hn::Zero(d)), hn::Set(d, of.flushed));
  return hn::Add(hn::Set(d, of.absolute), flushed);
}

/// Is |got - p| within the tolerance? p = high + low, with its relative error in the parameters.
struct Answer {
  hn::Mask<Lanes> proved;
  hn::Mask<Lanes> violated;
};

HWY_INLINE Answer judge(Lanes d, const stages::JudgeParameters& of, Real logit, Real deviation, Real high, Real low,
                        Real got) {
  const Real largest = hn::Set(d, std::numeric_limits<double>::max());
  const Real distance = hn::Abs(hn::Sub(hn::Sub(got, high), low));
  const Real relative = hn::MulAdd(hn::Set(d, of.error_deviation), deviation, hn::Set(d, of.error_constant));
  // A masked item is exactly zero; a cut-off weight is only known to be below this.
  const Real floor = hn::IfThenElseZero(hn::Ge(logit, hn::Neg(largest)), hn::Set(d, stages::element_floor));
  const Real error = hn::MulAdd(relative, high, floor);
  const Real margin = hn::MulAdd(hn::Add(relative, hn::Set(d, of.margin_constant)), high, floor);
  const Real lower = hn::Max(hn::Sub(high, margin), hn::Zero(d));
  const Real upper = hn::Add(high, margin);

  const Real exponent = exponent_field(d);
  const Real normal = hn::Set(d, of.smallest_normal);
  const Real ulps = hn::Set(d, of.ulp_scale);
  const Real slope = hn::MulAdd(hn::Set(d, of.per_deviation), deviation, hn::Set(d, of.relative));
  const Real absolute = absolute_part(d, of, got);
  // The tolerance increases with p: use the lower end of p for a proof, the upper end for a violation.
  const Real least = hn::MulAdd(ulps, hn::And(hn::Max(lower, normal), exponent), hn::MulAdd(slope, lower, absolute));
  const Real most = hn::MulAdd(ulps, hn::And(hn::Max(upper, normal), exponent), hn::MulAdd(slope, upper, absolute));

  const Real inflate = hn::Set(d, roundings);
  const hn::Mask<Lanes> proved = hn::Le(hn::Mul(hn::Add(distance, error), inflate), least);
  const Real certain = hn::Sub(hn::Mul(distance, hn::Set(d, 1 - 0x1p-48)), error);
  const hn::Mask<Lanes> beyond = hn::Gt(certain, hn::Mul(most, inflate));
  const hn::Mask<Lanes> not_finite = hn::Not(hn::Le(hn::Abs(got), largest));
  return {hn::AndNot(not_finite, proved), hn::Or(beyond, not_finite)};
}

/// Records the lanes that are not proved.
HWY_INLINE void file(Lanes d, const Answer& answer, std::size_t base, std::size_t count, StageOutcome& outcome) {
  HWY_ALIGN double proved[HWY_MAX_BYTES / sizeof(double)];
  HWY_ALIGN double violated[HWY_MAX_BYTES / sizeof(double)];
  const Real one = hn::Set(d, 1);
  hn::Store(hn::IfThenElseZero(answer.proved, one), d, proved);
  hn::Store(hn::IfThenElseZero(answer.violated, one), d, violated);
  for (std::size_t lane = 0; lane < count; ++lane) {
    if (violated[lane] != 0) {
      outcome.violated.push_back(base + lane);
    } else if (proved[lane] == 0) {
      outcome.undecided.push_back(base + lane);
    }
  }
}

}  // namespace softcheck::numerics::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
