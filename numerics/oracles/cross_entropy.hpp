#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "numerics/enclosures/enclosure.hpp"
#include "numerics/rounding/rounding_cross_entropy.hpp"
#include "numerics/rows/enclosed_row.hpp"
#include "numerics/rows/row_oracle.hpp"

namespace softcheck::numerics {

/// The exact cross-entropy of one row and its gradient. x are logits / theta, or c tanh(logits / c) with a softcap c, L
/// their log-sum-exp, p their softmax, w the class weights (1 without them), V the number of classes and y the label:
///  loss  = (1 - s) w_y (L - x_y) + (s / V) sum_c w_c (L - x_c) + z L^2
///  dx_j  = upstream (alpha p_j - b_j) / theta [times 1 - tanh^2(logits_j / c)],
///  alpha = (1 - s) w_y + s mean(w) + 2 z L,    b_j = (1 - s) w_y [j = y] + (s / V) w_j.
/// With options.summed, sums over the classes are not divided by V: for targets q, s = 1 and w = q give
///  loss = sum q (L - x) + z L^2.
/// The z-loss is not weighted. A division by the number of rows that are not ignored, or by their weights, belongs to
/// upstream: the caller passes the exact quotient as an enclosure. A row whose label is ignored has loss 0 and gradient
/// 0.
///
/// error    enclosures at the working precision at construction, as those of RowOracle; with a softcap those of
///          EnclosedRow
class CrossEntropyOracle {
 public:
  /// logits    (V) finite or -inf (a masked class, which has p = 0 and needs s w = 0), V >= 1
  /// label     in [0, V), its logit finite
  /// weights   (V) finite, >= 0, or empty: 1 each
  /// throws    std::invalid_argument if one of these does not hold, or an option is out of range
  CrossEntropyOracle(std::span<const double> logits, std::size_t label, const CrossEntropyOptions& options = {},
                     std::span<const double> weights = {});

  std::size_t size() const { return logits_.size(); }
  Enclosure loss() const;
  Enclosure logsumexp() const;
  Enclosure softmax(std::size_t j) const;
  Enclosure target_negative_log() const;  // L - x_y >= 0
  /// dx_j; upstream exact.
  Enclosure gradient(std::size_t j, const Enclosure& upstream) const;
  /// |L - x_y| (1 - s) w_y + (s / V) sum w (L - x) + |z| L^2: the loss up to the sign of z.
  Enclosure loss_metric() const;

  /// For cross_entropy_error and CrossEntropyGradientThreshold.
  ///
  /// rescalings   cross_entropy_rescalings(contract, options, logits)
  template <class T>
  CrossEntropyRow<T> row(std::uint64_t rescalings) const;
  template <class T>
  CrossEntropyElement<T> element(std::size_t j) const;

 private:
  double weight(std::size_t j) const { return weights_.empty() ? 1 : weights_[j]; }
  Enclosure logit(std::size_t j) const;      // x_j
  Enclosure deviation(std::size_t j) const;  // the largest x minus x_j
  Enclosure maximum() const;                 // of x
  Enclosure smoothing() const;               // s, or the point 0
  Enclosure classes() const;                 // V, or 1 for sums
  Enclosure alpha() const;
  Enclosure subtrahend(std::size_t j) const;  // b_j
  Enclosure slope(std::size_t j) const;       // 1 - tanh^2, or 1
  bool is_masked(std::size_t j) const;

  std::vector<double> logits_;
  std::vector<double> weights_;
  std::size_t label_;
  CrossEntropyOptions options_;
  std::optional<RowOracle> plain_;
  std::optional<EnclosedRow> capped_;
  Enclosure mean_weight_;     // mean(w)
  Enclosure mean_deviation_;  // mean over classes of w (m - x)
  Enclosure mean_magnitude_;  // mean over classes of w |x|
};

}  // namespace softcheck::numerics
