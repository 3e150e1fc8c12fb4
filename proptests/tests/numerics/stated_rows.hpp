#pragma once

#include <vector>

#include "numerics/rounding/rounding.hpp"

namespace softcheck::numerics::stated {

struct Setting {
  Format input, output;
  const char* words;
};

/// Every accumulator and every word that a bound reads. In f16 that flushes, what underflows is as large as a rounding.
inline const std::vector<Setting> settings{
    {Format::f32, Format::f32, "acc=f32 exp=1ulp sum=sequential"},
    {Format::f32, Format::bf16, "acc=f32 exp=0.25ulp sum=lanes:8 subnormal=kept"},
    {Format::f64, Format::f16, "acc=f32 exp=E:50,A:3 sum=blocks:4 lse=uncentred entropy_from=logits"},
    {Format::f64, Format::f64, "acc=f64 exp=1ulp sum=lanes:4 entropy_from=coefficients"},
    {Format::f16, Format::f16, "acc=f16 exp=1ulp sum=tree subnormal=flushed"},
    {Format::f16, Format::f16, "acc=f16 exp=1ulp sum=tree subnormal=kept lse=uncentred entropy_from=coefficients"},
    {Format::f32, Format::f16, "acc=f16 exp=E:3,A:2 sum=lanes:2 subnormal=flushed entropy_from=coefficients"},
    {Format::bf16, Format::bf16, "acc=bf16 exp=0.5ulp sum=tree theta=before lse=uncentred entropy_from=logits"},
    {Format::f32, Format::f32, "acc=f16 exp=1ulp sum=tree theta=before subnormal=flushed entropy_from=logits"},
    {Format::f16, Format::f16, "acc=f16 exp=1ulp sum=tree theta=before subnormal=flushed entropy=exact"},
    {Format::f16, Format::f16, "acc=f32 exp=2ulp sum=tree weights=f16 total=bf16 subnormal=kept entropy=paper"},
    {Format::bf16, Format::f16,
     "acc=f32 exp=1ulp sum=tree weights=f16 total=f16 subnormal=flushed theta=before entropy_from=coefficients"},
};

/// Row statistics as no row would have them all: the bounds are formulas in each.
inline std::vector<RowStatistics<Enclosure>> rows() {
  std::vector<RowStatistics<Enclosure>> result;
  struct Numbers {
    std::uint64_t size, visible, rescalings;
    double theta, log_sum, mean, square, maximum, largest, logsumexp;
  };
  for (const Numbers& x :
       {Numbers{1, 1, 0, 1, 0, 0, 0, 0.25, 0.25, 0.25}, Numbers{6, 4, 2, 1, 1.25, 0.5, 1.5, 3, 4, 4.25},
        Numbers{9, 9, 3, 0.3, 0.75, 0.875, 2.25, 1.5, 7, 2.25}, Numbers{5, 2, 0, 4, 0.5, 0.25, 0.375, 0.125, 1, 0.625},
        Numbers{40, 33, 1, 0.5, 2.5, 0.75, 1.25, 0, 5, 2.5},
        Numbers{30000, 20000, 0, 1, 9.75, 0.125, 0.25, 1, 2, 10.75}}) {
    result.push_back({x.size, x.visible, x.rescalings, x.theta, Enclosure(x.log_sum), Enclosure(x.mean),
                      Enclosure(x.square), Enclosure(x.maximum), Enclosure(x.largest), Enclosure(x.logsumexp)});
  }
  return result;
}

}  // namespace softcheck::numerics::stated
