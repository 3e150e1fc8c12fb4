#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "numerics/enclosures/enclosure.hpp"

namespace softcheck::numerics {

/// The softmax quantities of one row of logits, as enclosures at the working precision at construction.
///
/// With m the largest logit, D_i = (m - x_i) / theta and w_i = exp(-D_i), over the items that are not masked (-inf):
///  S = sum w_i,  T = sum w_i D_i,  U = sum w_i D_i^2.
/// S is stored as S - 1, without the argmax, so that the entropy of a sharp row, log1p(S - 1) + T / S, keeps its
/// relative accuracy. If every D_i is 0, S - 1 = n - 1 and T = U = 0 are points.
///
/// error    relative width of S - 1, T, U and of each w_i at most (12 + 2^-27 Dmax) 2^-precision for any n, if Dmax <
///          2^29: sums of terms of one sign have guard bits; of softmax, entropy, Dbar and V2 at most three times that.
///          Beyond Dmax = 2^29 weights may reach the end of MPFR's exponents: still enclosed, but from 0
/// cost     one exponential per run of equal logits at construction; softmax(i) one more in rows beyond 2^16
class RowOracle {
 public:
  /// logits   (n) finite or -inf (masked), n >= 0
  /// theta    > 0, finite, in the unit of the logits
  /// throws   std::invalid_argument if a logit is NaN or +inf, or theta is not positive and finite
  explicit RowOracle(std::span<const double> logits, double theta = 1);

  /// The row beta x for an enclosed beta > 0: in the following theta = 1 / beta.
  /// throws   std::invalid_argument also if beta is not certainly positive and bounded
  static RowOracle at_inverse_temperature(std::span<const double> logits, const Enclosure& beta);

  std::size_t size() const { return logits_.size(); }
  std::span<const double> logits() const { return logits_; }
  /// Is item i visible, that is not masked?
  bool is_visible(std::size_t i) const;
  /// Number of visible items.
  std::size_t visible() const { return visible_; }
  bool fully_masked() const { return visible_ == 0; }

  // The following need visible() >= 1 and throw std::logic_error otherwise.
  double maximum() const;
  /// First index of the maximum.
  std::size_t argmax() const;
  double minimum() const;  // of the visible items
  /// D_i of a visible item i.
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
  // Rows up to this length store their weights (some 200 bytes each); longer ones compute one exponential per call.
  static constexpr std::size_t cached_weights = 65536;

  RowOracle(std::span<const double> logits, double theta, const Enclosure* beta);
  void require_visible(const char* function) const;
  void require_visible_item(const char* function, std::size_t i) const;
  Enclosure exponent_of(std::size_t i) const;                // -D_i
  Enclosure over_temperature(const Enclosure& logit) const;  // logit / theta
  void add_up();

  std::vector<double> logits_;
  double theta_;
  std::optional<Enclosure> beta_;  // instead of theta
  unsigned precision_;             // at construction
  std::size_t visible_ = 0;
  std::size_t argmax_ = 0;
  std::size_t argmin_ = 0;
  Enclosure sum_minus_one_;
  Enclosure weighted_deviation_;
  Enclosure second_moment_;
  std::vector<Enclosure> weights_;
};

}  // namespace softcheck::numerics
