// The weights of the filter in vector code; included once per instruction set.
#include "numerics/filter/row_lanes.inl"

#if defined(SOFTCHECK_NUMERICS_FILTER_LANES_INL_) == defined(HWY_TARGET_TOGGLE)
#ifdef SOFTCHECK_NUMERICS_FILTER_LANES_INL_
#undef SOFTCHECK_NUMERICS_FILTER_LANES_INL_
#else
#define SOFTCHECK_NUMERICS_FILTER_LANES_INL_
#endif

HWY_BEFORE_NAMESPACE();
namespace softcheck::numerics::HWY_NAMESPACE {

// ln 2 - ln_2_first, rounded.
constexpr double ln_2_rest = 0x1.ef35793c76730p-45;

/// exp(-D) for 0 <= D <= 700; relative error (2 + |error of D|) 2^-53.
HWY_INLINE Real exponential(Lanes d, Real deviation) {
  const hn::RebindToSigned<Lanes> di;
  const Reduced reduced = reduce(d, deviation);
  const Real r = hn::NegMulAdd(reduced.count, hn::Set(d, ln_2_rest), reduced.rest);
  Real q = hn::Set(d, stages::exponential_coefficients[9]);
  q = hn::MulAdd(q, r, hn::Set(d, stages::exponential_coefficients[8]));
  q = hn::MulAdd(q, r, hn::Set(d, stages::exponential_coefficients[7]));
  q = hn::MulAdd(q, r, hn::Set(d, stages::exponential_coefficients[6]));
  q = hn::MulAdd(q, r, hn::Set(d, stages::exponential_coefficients[5]));
  q = hn::MulAdd(q, r, hn::Set(d, stages::exponential_coefficients[4]));
  q = hn::MulAdd(q, r, hn::Set(d, stages::exponential_coefficients[3]));
  q = hn::MulAdd(q, r, hn::Set(d, stages::exponential_coefficients[2]));
  q = hn::MulAdd(q, r, hn::Set(d, stages::exponential_coefficients[1]));
  q = hn::MulAdd(q, r, hn::Set(d, stages::exponential_coefficients[0]));
  const Real power = hn::Add(hn::Set(d, 1), hn::MulAdd(hn::Mul(r, r), q, r));
  // power is in [0.7, 1.42] and k >= -1010: adding k to the exponent field is exact.
  return hn::BitCast(d, hn::Add(hn::BitCast(di, power), hn::ShiftLeft<52>(reduced.bits)));
}

struct Weight {
  Real gap;        // m - x
  Real deviation;  // D, at most 700
  Real value;      // exp(-D); 0 if D > 700
};

template <bool kDivide>
HWY_INLINE Weight weigh(Lanes d, Real maximum, Real theta, Real logit) {
  const Real gap = hn::Sub(maximum, logit);
  const Real exact = kDivide ? hn::Div(gap, theta) : gap;
  const Real limit = hn::Set(d, stages::largest_deviation);
  const Real deviation = hn::Min(exact, limit);
  return {gap, deviation, hn::IfThenElseZero(hn::Le(exact, limit), exponential(d, deviation))};
}

/// The test of judge() with one error for all purposes; true only if proved.
template <bool kRelative>
HWY_INLINE hn::Mask<Lanes> proves(Lanes d, const stages::JudgeParameters& of, Real deviation, Real p, Real got) {
  const Real relative = hn::MulAdd(hn::Set(d, of.error_deviation), deviation, hn::Set(d, of.proof_constant));
  const Real error = hn::MulAdd(relative, p, hn::Set(d, stages::element_floor));
  const Real lower = hn::Sub(p, error);
  const Real binade = hn::And(hn::Max(lower, hn::Set(d, of.smallest_normal)), exponent_field(d));
  Real least = hn::Mul(binade, hn::Set(d, of.ulp_scale));
  if (kRelative) {
    const Real slope = hn::MulAdd(hn::Set(d, of.per_deviation), deviation, hn::Set(d, of.relative));
    least = hn::Add(least, hn::MulAdd(slope, hn::Max(lower, hn::Zero(d)), absolute_part(d, of, got)));
  }
  const Real most = hn::Add(hn::Abs(hn::Sub(got, p)), error);
  return hn::Le(hn::Mul(most, hn::Set(d, roundings)), least);
}

}  // namespace softcheck::numerics::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
