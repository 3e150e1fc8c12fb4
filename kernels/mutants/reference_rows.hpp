#pragma once

#include <cmath>
#include <cstddef>
#include <vector>

#include "kernels/mutants/rows.hpp"

// The plain loops that most mutants spoil in one place.
namespace softcheck::kernels::mutants {

/// The maximum; NaN where a logit is NaN.
inline float maximum(const std::vector<float>& logits) {
  float best = -infinity;
  for (const float x : logits) {
    if (std::isnan(x)) {
      return quiet_nan;
    }
    best = x > best ? x : best;
  }
  return best;
}

/// Weights exp((x - m) / theta) into out, their sum (f32, sequential) returned.
inline float weights(const Row& row, float m, std::vector<float>& out) {
  const float scale = static_cast<float>(1 / row.theta);
  float sum = 0;
  for (std::size_t i = 0; i < row.logits.size(); ++i) {
    out[i] = std::exp((row.logits[i] - m) * scale);
    sum += out[i];
  }
  return sum;
}

/// A correct softmax: exp=1ulp sum=sequential masked=nan. All masked: (-inf) - (-inf) is NaN, and so is the row.
inline void softmax(Row& row) {
  const float sum = weights(row, maximum(row.logits), row.out);
  for (float& p : row.out) {
    p /= sum;
  }
}

struct Sums {
  float maximum = 0;
  float weights = 0;     // S
  float deviations = 0;  // T = sum w D
};

/// m, S and T of a row with at least one visible, finite logit.
inline Sums sums_of(const Row& row) {
  Sums sums{maximum(row.logits), 0, 0};
  const float scale = static_cast<float>(1 / row.theta);
  for (const float x : row.logits) {
    const float deviation = (sums.maximum - x) * scale;
    const float w = std::exp(-deviation);
    sums.weights += w;
    sums.deviations += w > 0 ? w * deviation : 0;  // 0 inf is not there
  }
  return sums;
}

/// ln sum exp(x / theta) of a row whose maximum is finite, from its sums.
inline float logsumexp_of(const Row& row, const Sums& sums) {
  return static_cast<float>(sums.maximum / row.theta) + std::log(sums.weights);
}

inline float entropy_of(const Sums& sums) { return std::log(sums.weights) + sums.deviations / sums.weights; }

/// logsumexp or entropy by finite_row where the maximum is finite; the contract's values (masked=nan) elsewhere.
template <class FiniteRow>
float logsumexp_or(const Row& row, FiniteRow finite_row) {
  const float m = maximum(row.logits);
  return std::isfinite(m) ? finite_row(row) : m;
}

template <class FiniteRow>
float entropy_or(const Row& row, FiniteRow finite_row) {
  if (row.logits.empty()) {
    return 0;
  }
  return std::isfinite(maximum(row.logits)) ? finite_row(row) : quiet_nan;
}

}  // namespace softcheck::kernels::mutants
