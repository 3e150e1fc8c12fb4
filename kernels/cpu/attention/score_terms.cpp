#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/attention/score_terms.cpp"
#include <hwy/foreach_target.h>
// foreach_target comes first: it includes this file once per instruction set.
#include <hwy/highway.h>

#include <cstddef>
#include <cstdint>
#include <limits>

#include "kernels/cpu/attention/score_terms.hpp"
#include "kernels/cpu/attention/tanh_lanes.inl"
#include "kernels/cpu/machine.hpp"
#include "kernels/cpu/rows/exp_lanes.inl"

HWY_BEFORE_NAMESPACE();
namespace softcheck::kernels::cpu {
namespace HWY_NAMESPACE {

// Scores after the terms of one row, at keys from i on of the block. Distances are integers until they round once.
template <class T, class V>
HWY_INLINE V with_terms(Tag<T> d, V score, const ScoreTerms<T>& terms, std::size_t row, std::size_t i) {
  if (terms.softcap != 0) {
    const V cap = hn::Set(d, terms.softcap);
    score = hn::Mul(cap, tanh_of<T>(d, hn::Div(score, cap)));
  }
  if (terms.slopes != nullptr) {
    const hn::RebindToSigned<Tag<T>> whole;
    using Whole = hn::TFromD<decltype(whole)>;
    const auto first = static_cast<Whole>(terms.offsets[row] + static_cast<std::int64_t>(i));
    const V distance = hn::Abs(hn::ConvertTo(d, hn::Iota(whole, first)));
    score = hn::NegMulAdd(hn::Set(d, terms.slopes[row]), distance, score);
  }
  return terms.bias == nullptr ? score : hn::Add(score, hn::LoadU(d, terms.bias + i));
}

template <class T>
HWY_INLINE void attribute_row(const TileScores<T>& tile, const ScoreTerms<T>& terms, std::size_t row, T scale_factor,
                              T* maximum) {
  const Tag<T> d;
  using V = hn::Vec<Tag<T>>;
  const V lowest = hn::Set(d, -std::numeric_limits<T>::infinity()), highest = hn::Neg(lowest);
  const V scale = hn::Set(d, scale_factor);
  const V begin = hn::Set(d, static_cast<T>(tile.begin[row])), end = hn::Set(d, static_cast<T>(tile.limit[row]));
  T* x = tile.scores + (row - tile.first) * key_block;
  ScoreTerms<T> own = terms;
  own.bias = terms.bias == nullptr ? nullptr : terms.bias + (row - tile.first) * key_block;
  const T* visible = tile.mask == nullptr ? nullptr : tile.mask + (row - tile.first) * key_block;
  V best = lowest;
  auto undefined = hn::Lt(hn::Zero(d), hn::Zero(d));
  for (std::size_t i = 0; i < tile.width; i += hn::Lanes(d)) {
    const V place = hn::Iota(d, static_cast<T>(i));
    auto seen = hn::And(hn::Ge(place, begin), hn::Lt(place, end));
    if (visible != nullptr) {
      seen = hn::And(seen, hn::Ne(hn::LoadU(d, visible + i), hn::Zero(d)));
    }
    const V scaled = hn::IfThenElse(seen, hn::Mul(scale, hn::LoadU(d, x + i)), lowest);
    undefined = hn::Or(undefined, hn::Eq(scaled, highest));
    const V score = hn::IfThenElse(hn::Eq(scaled, lowest), lowest, with_terms<T>(d, scaled, own, row, i));
    undefined = hn::Or(undefined, hn::Or(hn::IsNaN(score), hn::Eq(score, highest)));
    best = hn::Max(best, score);
    hn::StoreU(score, d, x + i);
  }
  maximum[row] = hn::GetLane(hn::MaxOfLanes(d, best));
  if (!hn::AllFalse(d, undefined)) {
    tile.undefined[row] = T(1);
  }
}

void Attribute32(const TileScores<float>& tile, const ScoreTerms<float>& terms, float scale, float* maximum) {
  for (std::size_t row = tile.first; row < tile.rows; ++row) {
    attribute_row<float>(tile, terms, row, scale, maximum);
  }
}
void Attribute64(const TileScores<double>& tile, const ScoreTerms<double>& terms, double scale, double* maximum) {
  for (std::size_t row = tile.first; row < tile.rows; ++row) {
    attribute_row<double>(tile, terms, row, scale, maximum);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace softcheck::kernels::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace softcheck::kernels::cpu {

HWY_EXPORT(Attribute32);
HWY_EXPORT(Attribute64);

void attribute_scores(const TileScores<float>& tile, const ScoreTerms<float>& terms, float scale, float* maximum) {
  HWY_DYNAMIC_DISPATCH(Attribute32)(tile, terms, scale, maximum);
}
void attribute_scores(const TileScores<double>& tile, const ScoreTerms<double>& terms, double scale, double* maximum) {
  HWY_DYNAMIC_DISPATCH(Attribute64)(tile, terms, scale, maximum);
}

}  // namespace softcheck::kernels::cpu
#endif
