#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "numerics/enclosures/enclosure.hpp"

namespace softcheck::proptests {

/// An approximate real: |value - exact| <= error, about 64 bits.
struct LongApproximation {
  long double value = 0;
  long double error = 0;

  /// At a working precision of 64 bits or more; the whole real line if value or error is not finite.
  numerics::Enclosure enclosure() const;
};

/// The steps after scale <q, k>: capped_score is softcap tanh(score / softcap), or the score if softcap is 0;
/// shifted_score subtracts slope distance and adds bias.
LongApproximation capped_score(const LongApproximation& score, double softcap);
/// The derivative of capped_score, 1 - tanh(score / softcap)^2; 1 if softcap is 0.
LongApproximation capped_slope(const LongApproximation& score, double softcap);
LongApproximation shifted_score(const LongApproximation& score, double slope, double distance, double bias);

/// Softmax of one row of approximate logits in long double, with certified errors. It decides all but the closest
/// values of attention without an enclosure. All quantities are relative to the highest item r, since softmax does not
/// depend on the reference item. Derivation: docs/tolerances/attention.md.
class LongSoftmax {
 public:
  /// logits    (n), n >= 1; errors and values finite
  explicit LongSoftmax(std::span<const LongApproximation> logits);

  /// The same row times an inverse temperature.
  LongSoftmax sharpened(const LongApproximation& beta) const;

  /// Are the logits' errors below 2^-10? The other functions need that.
  bool usable() const { return usable_; }
  std::size_t size() const { return deviations_.size(); }
  LongApproximation maximum() const;                   // of the logits
  LongApproximation deviation(std::size_t j) const;    // maximum - logit
  LongApproximation coefficient(std::size_t j) const;  // p_j
  LongApproximation log_sum() const;                   // ln S, S = sum exp(-deviation)
  LongApproximation logsumexp() const;
  LongApproximation mean_deviation() const;         // Dbar = sum p D
  LongApproximation mean_square_deviation() const;  // sum p D^2
  LongApproximation entropy() const;
  /// The paper's -sum p ln(p + 1e-9).
  LongApproximation entropy_with_epsilon() const;

 private:
  LongSoftmax(std::vector<LongApproximation> deviations, const LongApproximation& reference);
  void add_up();
  LongApproximation over_sum(long double numerator, long double numerator_error) const;

  LongApproximation reference_;                // logit of r
  std::vector<LongApproximation> deviations_;  // x_r - x_j
  std::vector<long double> weights_;
  std::vector<long double> weight_errors_;  // relative, including the roundings of a product and of sums over n items
  long double slack_ = 0;                   // upper bound of maximum - x_r
  bool usable_ = false;
  long double sum_ = 0, inverse_ = 0;
  long double sum_error_ = 0;  // relative
};

}  // namespace softcheck::proptests
