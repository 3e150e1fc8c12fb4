#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/rows/block_passes.cpp"
#include <hwy/foreach_target.h>
// foreach_target comes first: it includes this file once per instruction set.
#include <hwy/highway.h>

#include <cstddef>

#include "kernels/cpu/rows/block_lanes.inl"
#include "kernels/cpu/rows/block_passes.hpp"

HWY_BEFORE_NAMESPACE();
namespace softcheck::kernels::cpu {
namespace HWY_NAMESPACE {

template <class T>
HWY_INLINE bool has_nan_of(const T* x, std::size_t count) {
  const Tag<T> d;
  auto nan = hn::MaskFromVec(hn::Zero(d));
  for (std::size_t i = 0; i < count; i += hn::Lanes(d)) {
    nan = hn::Or(nan, hn::IsNaN(hn::LoadU(d, x + i)));
  }
  return !hn::AllFalse(d, nan);
}

template <class T>
HWY_INLINE void shift_of(const T* x, std::size_t count, T maximum, T scale_factor, T shift, T* out) {
  const Tag<T> d;
  using V = hn::Vec<Tag<T>>;
  const V m = hn::Set(d, maximum);
  const V scale = hn::Set(d, scale_factor);
  const V less = hn::Set(d, shift);
  for (std::size_t i = 0; i < count; i += hn::Lanes(d)) {
    hn::StoreU(hn::Sub(hn::Mul(hn::Sub(hn::LoadU(d, x + i), m), scale), less), d, out + i);
  }
}

template <class T>
HWY_INLINE T exp_of(T z) {
  const Tag<T> d;
  const auto clamped = bounded_below<T>(d, hn::Set(d, z));
  return hn::GetLane(scaled_exp<T>(d, clamped)) * ExpConstants<T>::unscale;
}

// One plain function per pass and type, for the dispatch table.
float Maximum32(const float* x, std::size_t count) { return maximum_of<float>(x, count); }
double Maximum64(const double* x, std::size_t count) { return maximum_of<double>(x, count); }
bool HasNan32(const float* x, std::size_t count) { return has_nan_of<float>(x, count); }
bool HasNan64(const double* x, std::size_t count) { return has_nan_of<double>(x, count); }
BlockSums<float> Sums32(const float* x, std::size_t count, float m, float scale) {
  return sums_of<Wanted::sums, true, float>(x, count, m, scale, nullptr);
}
BlockSums<double> Sums64(const double* x, std::size_t count, double m, double scale) {
  return sums_of<Wanted::sums, true, double>(x, count, m, scale, nullptr);
}
BlockSums<float> Moments32(const float* x, std::size_t count, float m, float scale) {
  return sums_of<Wanted::moments, true, float>(x, count, m, scale, nullptr);
}
BlockSums<double> Moments64(const double* x, std::size_t count, double m, double scale) {
  return sums_of<Wanted::moments, true, double>(x, count, m, scale, nullptr);
}
BlockSums<float> Weights32(const float* x, std::size_t count, float m, float scale, bool has_ones, float* out) {
  return has_ones ? sums_of<Wanted::weights, true, float>(x, count, m, scale, out)
                  : sums_of<Wanted::weights, false, float>(x, count, m, scale, out);
}
BlockSums<double> Weights64(const double* x, std::size_t count, double m, double scale, bool has_ones, double* out) {
  return has_ones ? sums_of<Wanted::weights, true, double>(x, count, m, scale, out)
                  : sums_of<Wanted::weights, false, double>(x, count, m, scale, out);
}
float Totals32(const float* x, std::size_t count, float m, float scale, float* out) {
  return totals_of<float>(x, count, m, scale, out);
}
double Totals64(const double* x, std::size_t count, double m, double scale, double* out) {
  return totals_of<double>(x, count, m, scale, out);
}
void Probabilities32(const float* x, std::size_t count, float m, float scale, float factor, float* out) {
  probabilities_of<float>(x, count, m, scale, factor, out);
}
void Probabilities64(const double* x, std::size_t count, double m, double scale, double factor, double* out) {
  probabilities_of<double>(x, count, m, scale, factor, out);
}
float Exp32(float z) { return exp_of<float>(z); }
double Exp64(double z) { return exp_of<double>(z); }
void Normalize32(const float* weights, std::size_t count, float factor, float* out) {
  normalize_of<float>(weights, count, factor, out);
}
void Normalize64(const double* weights, std::size_t count, double factor, double* out) {
  normalize_of<double>(weights, count, factor, out);
}
void Shift32(const float* x, std::size_t count, float m, float scale, float shift, float* out) {
  shift_of<float>(x, count, m, scale, shift, out);
}
void Shift64(const double* x, std::size_t count, double m, double scale, double shift, double* out) {
  shift_of<double>(x, count, m, scale, shift, out);
}

}  // namespace HWY_NAMESPACE
}  // namespace softcheck::kernels::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace softcheck::kernels::cpu {

HWY_EXPORT(Maximum32);
HWY_EXPORT(Maximum64);
HWY_EXPORT(HasNan32);
HWY_EXPORT(HasNan64);
HWY_EXPORT(Sums32);
HWY_EXPORT(Sums64);
HWY_EXPORT(Moments32);
HWY_EXPORT(Moments64);
HWY_EXPORT(Weights32);
HWY_EXPORT(Weights64);
HWY_EXPORT(Totals32);
HWY_EXPORT(Totals64);
HWY_EXPORT(Probabilities32);
HWY_EXPORT(Probabilities64);
HWY_EXPORT(Exp32);
HWY_EXPORT(Exp64);
HWY_EXPORT(Normalize32);
HWY_EXPORT(Normalize64);
HWY_EXPORT(Shift32);
HWY_EXPORT(Shift64);

float block_maximum(const float* x, std::size_t count) { return HWY_DYNAMIC_DISPATCH(Maximum32)(x, count); }
double block_maximum(const double* x, std::size_t count) { return HWY_DYNAMIC_DISPATCH(Maximum64)(x, count); }
bool block_has_nan(const float* x, std::size_t count) { return HWY_DYNAMIC_DISPATCH(HasNan32)(x, count); }
bool block_has_nan(const double* x, std::size_t count) { return HWY_DYNAMIC_DISPATCH(HasNan64)(x, count); }
BlockSums<float> block_sums(const float* x, std::size_t count, float m, float scale) {
  return HWY_DYNAMIC_DISPATCH(Sums32)(x, count, m, scale);
}
BlockSums<double> block_sums(const double* x, std::size_t count, double m, double scale) {
  return HWY_DYNAMIC_DISPATCH(Sums64)(x, count, m, scale);
}
BlockSums<float> block_moments(const float* x, std::size_t count, float m, float scale) {
  return HWY_DYNAMIC_DISPATCH(Moments32)(x, count, m, scale);
}
BlockSums<double> block_moments(const double* x, std::size_t count, double m, double scale) {
  return HWY_DYNAMIC_DISPATCH(Moments64)(x, count, m, scale);
}
BlockSums<float> block_weights(const float* x, std::size_t count, float m, float scale, bool has_ones, float* out) {
  return HWY_DYNAMIC_DISPATCH(Weights32)(x, count, m, scale, has_ones, out);
}
BlockSums<double> block_weights(const double* x, std::size_t count, double m, double scale, bool has_ones,
                                double* out) {
  return HWY_DYNAMIC_DISPATCH(Weights64)(x, count, m, scale, has_ones, out);
}
float block_totals(const float* x, std::size_t count, float m, float scale, float* out) {
  return HWY_DYNAMIC_DISPATCH(Totals32)(x, count, m, scale, out);
}
double block_totals(const double* x, std::size_t count, double m, double scale, double* out) {
  return HWY_DYNAMIC_DISPATCH(Totals64)(x, count, m, scale, out);
}
void block_probabilities(const float* x, std::size_t count, float m, float scale, float factor, float* out) {
  HWY_DYNAMIC_DISPATCH(Probabilities32)(x, count, m, scale, factor, out);
}
void block_probabilities(const double* x, std::size_t count, double m, double scale, double factor, double* out) {
  HWY_DYNAMIC_DISPATCH(Probabilities64)(x, count, m, scale, factor, out);
}
float block_exp(float z) { return HWY_DYNAMIC_DISPATCH(Exp32)(z); }
double block_exp(double z) { return HWY_DYNAMIC_DISPATCH(Exp64)(z); }
void block_normalize(const float* weights, std::size_t count, float factor, float* out) {
  HWY_DYNAMIC_DISPATCH(Normalize32)(weights, count, factor, out);
}
void block_normalize(const double* weights, std::size_t count, double factor, double* out) {
  HWY_DYNAMIC_DISPATCH(Normalize64)(weights, count, factor, out);
}
void block_shift(const float* x, std::size_t count, float m, float scale, float shift, float* out) {
  HWY_DYNAMIC_DISPATCH(Shift32)(x, count, m, scale, shift, out);
}
void block_shift(const double* x, std::size_t count, double m, double scale, double shift, double* out) {
  HWY_DYNAMIC_DISPATCH(Shift64)(x, count, m, scale, shift, out);
}

}  // namespace softcheck::kernels::cpu
#endif
