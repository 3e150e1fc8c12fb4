#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "numerics/enclosure.hpp"

namespace softcheck::numerics {

/// Everything about one row of logits that softmax attention is made of, as enclosures at the working precision of the
/// moment of construction.
///
/// With m the largest logit, D_i = (m - x_i) / theta and w_i = exp(-D_i), masked items (-inf) left out:
///   S = sum w_i,  T = sum w_i D_i,  U = sum w_i D_i^2.
/// S is kept as S - 1, the argmax left out of the sum, so that the entropy of a sharp row, log1p(S - 1) + T / S, keeps
/// its relative accuracy. The sums of positive terms suffer no cancellation: their relative width is about (n + 3)
/// 2^-precision.
class RowOracle {
 public:
  /// logits   (n) finite or -inf (masked), n >= 0
  /// theta    > 0, finite, in the unit of the logits
  /// throws   std::invalid_argument when a logit is NaN or +inf, or theta is not positive and finite
  explicit RowOracle(std::span<const double> logits, double theta = 1);

  std::size_t size() const { return logits_.size(); }
  /// Number of items that are not masked.
  std::size_t visible() const { return visible_; }
  bool fully_masked() const { return visible_ == 0; }

  // The rest needs visible() >= 1 and throws std::logic_error otherwise.
  double maximum() const;
  /// First position of the maximum.
  std::size_t argmax() const;
  double minimum() const;  // of the visible items
  /// D_i; i visible.
  Enclosure deviation(std::size_t i) const;
  const Enclosure& sum_minus_one() const;       // S - 1 >= 0
  Enclosure sum() const;                        // S in [1, n]
  const Enclosure& weighted_deviation() const;  // T >= 0
  const Enclosure& second_moment() const;       // U >= 0
  Enclosure softmax(std::size_t i) const;       // w_i / S; the point 0 for a masked item
  Enclosure log_softmax(std::size_t i) const;   // -D_i - ln S; i visible
  Enclosure logsumexp() const;                  // m / theta + ln S
  Enclosure entropy() const;                    // ln S + T / S, nats
  Enclosure mean_deviation() const;             // Dbar = T / S = sum p_i D_i
  Enclosure mean_square_deviation() const;      // V2 = U / S = sum p_i D_i^2
  Enclosure varentropy() const;                 // Var(ln p) = V2 - Dbar^2

 private:
  void require_visible(const char* function) const;

  std::vector<double> logits_;
  double theta_;
  std::size_t visible_ = 0;
  std::size_t argmax_ = 0;
  std::size_t argmin_ = 0;
  Enclosure sum_minus_one_;
  Enclosure weighted_deviation_;
  Enclosure second_moment_;
};

}  // namespace softcheck::numerics
