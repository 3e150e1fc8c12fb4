#pragma once

#include <cstddef>
#include <memory>
#include <span>

#include "numerics/enclosures/enclosure.hpp"

namespace softcheck::numerics {

/// Was this library built with Arb?
bool arb_available();

/// A second computation of RowOracle's values, without its code or formulas: Arb's ball arithmetic instead of MPFI,
/// exponentials without subtraction of the maximum, entropy as -sum p ln p.
///  L = ln sum exp(x_i / theta),  p_i = exp(x_i / theta) / sum,  H = -sum p_i ln p_i,
///  S - 1 = sum over i != argmax of p_i / p_max,  T = sum p_i D_i / p_max,  U = sum p_i D_i^2 / p_max.
/// If |x / theta| exceeds 2^20, the largest logit is subtracted after all.
///
/// error    enclosures; absolute width of p, L and H about n 2^-(precision + 32), which is no relative accuracy for the
///          tiny entropies of sharp rows; log_softmax is NaN if p is outside Arb's exponents (D > 1e18)
class ArbRowOracle {
 public:
  /// logits   (n) finite or -inf (masked), n >= 0
  /// theta    > 0, finite
  /// throws   std::logic_error if built without Arb; std::invalid_argument as RowOracle
  explicit ArbRowOracle(std::span<const double> logits, double theta = 1);
  ~ArbRowOracle();
  ArbRowOracle(ArbRowOracle&&) noexcept;
  ArbRowOracle& operator=(ArbRowOracle&&) noexcept;

  // The following need a visible item and throw std::logic_error otherwise.
  Enclosure softmax(std::size_t i) const;  // the point 0 for a masked item
  Enclosure log_softmax(std::size_t i) const;
  Enclosure logsumexp() const;
  Enclosure entropy() const;
  Enclosure entropy_eps() const;  // -sum p ln(p + 1e-9)
  Enclosure sum_minus_one() const;
  Enclosure weighted_deviation() const;
  Enclosure second_moment() const;

 private:
  struct Values;
  const Values& row() const;  // throws without a visible item
  std::unique_ptr<Values> values_;
};

}  // namespace softcheck::numerics
