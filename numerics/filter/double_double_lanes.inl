// Double-double arithmetic and the weights of the second stage in vector code; included once per instruction set.
#include "numerics/filter/row_lanes.inl"

#if defined(SOFTCHECK_NUMERICS_DOUBLE_DOUBLE_LANES_INL_) == defined(HWY_TARGET_TOGGLE)
#ifdef SOFTCHECK_NUMERICS_DOUBLE_DOUBLE_LANES_INL_
#undef SOFTCHECK_NUMERICS_DOUBLE_DOUBLE_LANES_INL_
#else
#define SOFTCHECK_NUMERICS_DOUBLE_DOUBLE_LANES_INL_
#endif

HWY_BEFORE_NAMESPACE();
namespace softcheck::numerics::HWY_NAMESPACE {

// 1 / k! for k = 0 ... 13, high and low parts.
constexpr double inverse_factorials[14][2] = {{1, 0},
                                              {1, 0},
                                              {0.5, 0},
                                              {0x1.5555555555555p-3, 0x1.5555555555555p-57},
                                              {0x1.5555555555555p-5, 0x1.5555555555555p-59},
                                              {0x1.1111111111111p-7, 0x1.1111111111111p-63},
                                              {0x1.6c16c16c16c17p-10, -0x1.f49f49f49f49fp-65},
                                              {0x1.a01a01a01a01ap-13, 0x1.a01a01a01a01ap-73},
                                              {0x1.a01a01a01a01ap-16, 0x1.a01a01a01a01ap-76},
                                              {0x1.71de3a556c734p-19, -0x1.c154f8ddc6c00p-73},
                                              {0x1.27e4fb7789f5cp-22, 0x1.cbbc05b4fa99ap-76},
                                              {0x1.ae64567f544e4p-26, -0x1.c062e06d1f209p-80},
                                              {0x1.1eed8eff8d898p-29, -0x1.2aec959e14c06p-83},
                                              {0x1.6124613a86d09p-33, 0x1.f28e0cc748ebep-87}};
// 1 / k! for k = 14 ... 23: plain doubles suffice for 2^-110 of exp(r).
constexpr double inverse_factorials_tail[10] = {
    0x1.93974a8c07c9dp-37, 0x1.ae7f3e733b81fp-41, 0x1.ae7f3e733b81fp-45, 0x1.952c77030ad4ap-49, 0x1.6827863b97d97p-53,
    0x1.2f49b46814157p-57, 0x1.e542ba4020225p-62, 0x1.71b8ef6dcf572p-66, 0x1.0ce396db7f853p-70, 0x1.761b41316381ap-75};

struct Pair {
  Real high, low;
};

/// Exact: Knuth's two-sum.
HWY_INLINE Pair two_sum(Real a, Real b) {
  const Real sum = hn::Add(a, b);
  const Real part = hn::Sub(sum, a);
  return {sum, hn::Add(hn::Sub(a, hn::Sub(sum, part)), hn::Sub(b, part))};
}

/// Exact if |a| >= |b| or a = 0 = b: Dekker's.
HWY_INLINE Pair fast_two_sum(Real a, Real b) {
  const Real sum = hn::Add(a, b);
  return {sum, hn::Sub(b, hn::Sub(sum, a))};
}

#if !HWY_NATIVE_FMA
/// Veltkamp's splitting into 26 and 27 bits.
HWY_INLINE Pair split(Lanes d, Real a) {
  const Real scaled = hn::Mul(a, hn::Set(d, 134217729.0));  // 2^27 + 1
  const Real high = hn::Sub(scaled, hn::Sub(scaled, a));
  return {high, hn::Sub(a, high)};
}
#endif

/// Exact unless it underflows.
HWY_INLINE Pair two_product(Lanes d, Real a, Real b) {
  const Real product = hn::Mul(a, b);
#if HWY_NATIVE_FMA
  (void)d;
  return {product, hn::MulSub(a, b, product)};
#else
  const Pair x = split(d, a);
  const Pair y = split(d, b);
  const Real first = hn::Sub(hn::Mul(x.high, y.high), product);
  const Real second = hn::Add(hn::Add(first, hn::Mul(x.high, y.low)), hn::Mul(x.low, y.high));
  return {product, hn::Add(second, hn::Mul(x.low, y.low))};
#endif
}

/// |error| <= 3.01 * 2^-106 (|a| + |b|) if |a + b| >= (|a| + |b|) / 4.
HWY_INLINE Pair add(Pair a, Pair b) {
  const Pair sum = two_sum(a.high, b.high);
  return fast_two_sum(sum.high, hn::Add(sum.low, hn::Add(a.low, b.low)));
}

/// |error| <= 8.01 * 2^-106 |a b|, with and without fused multiply-add.
HWY_INLINE Pair multiply(Lanes d, Pair a, Pair b) {
  const Pair product = two_product(d, a.high, b.high);
  const Real cross = hn::MulAdd(a.low, b.high, hn::Mul(a.high, b.low));
  return fast_two_sum(product.high, hn::Add(product.low, cross));
}

/// exp(-D) for 0 <= D.high <= 700; relative error 2^-106 (16 + 2 D).
HWY_INLINE Pair exponential(Lanes d, Pair deviation) {
  const hn::RebindToSigned<Lanes> di;
  const Reduced reduced = reduce(d, deviation.high);
  // ln 2 - ln_2_first in two parts; the first has so few bits that its product with k is exact.
  const Pair near = two_sum(reduced.rest, hn::Neg(hn::Mul(reduced.count, hn::Set(d, 0x1.ef35793c76000p-45))));
  const Real far = hn::NegMulAdd(reduced.count, hn::Set(d, 0x1.cc01f97b57a08p-87), hn::Neg(deviation.low));
  const Pair r = two_sum(near.high, hn::Add(near.low, far));

  Real tail = hn::Set(d, inverse_factorials_tail[9]);
  for (int k = 8; k >= 0; --k) tail = hn::MulAdd(tail, r.high, hn::Set(d, inverse_factorials_tail[k]));
  Pair power = {tail, hn::Zero(d)};
  for (int k = 13; k >= 0; --k) {
    const Pair coefficient = {hn::Set(d, inverse_factorials[k][0]), hn::Set(d, inverse_factorials[k][1])};
    power = add(coefficient, multiply(d, power, r));
  }
  // 2^k is a normal number: k >= -1010.
  const Whole bias = hn::Set(di, 1023);
  const Real scale = hn::BitCast(d, hn::ShiftLeft<52>(hn::Add(reduced.bits, bias)));
  return {hn::Mul(power.high, scale), hn::Mul(power.low, scale)};
}

struct PairWeight {
  Real gap;        // the high part of m - x
  Pair deviation;  // D, at most 700
  Pair value;      // exp(-D); 0 if D > 700
};

HWY_INLINE PairWeight weigh(Lanes d, Real maximum, const stages::Temperature& theta, Real logit) {
  const Pair gap = two_sum(maximum, hn::Neg(logit));
  const Real inverse_power = hn::Set(d, theta.inverse_power);
  const Real mantissa = hn::Set(d, theta.mantissa);
  const Real high = hn::Mul(gap.high, inverse_power);
  const Real low = hn::Mul(gap.low, inverse_power);
  const Real quotient = hn::Div(high, mantissa);
  const Pair back = two_product(d, quotient, mantissa);
  const Real remainder = hn::Add(hn::Sub(hn::Sub(high, back.high), back.low), low);
  const Pair exact = fast_two_sum(quotient, hn::Div(remainder, mantissa));
  // Also false if an infinite gap turned the quotient's low part into a NaN.
  const Real limit = hn::Set(d, stages::largest_deviation);
  const hn::Mask<Lanes> counts = hn::Le(exact.high, limit);
  const Pair deviation = {hn::IfThenElse(counts, exact.high, limit), hn::IfThenElseZero(counts, exact.low)};
  const Pair value = exponential(d, deviation);
  return {gap.high, deviation, {hn::IfThenElseZero(counts, value.high), hn::IfThenElseZero(counts, value.low)}};
}

}  // namespace softcheck::numerics::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
