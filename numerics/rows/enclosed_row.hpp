#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "numerics/enclosures/enclosure.hpp"

namespace softcheck::numerics {

/// Softmax of a row whose logits are known only as enclosures: attention scores, or logits times an enclosed inverse
/// temperature.
///
/// All values are relative to the item r with the highest enclosure. Softmax does not depend on the reference item, so
/// r need not be the largest. With E_i = x_i - x_r and w_i = exp(E_i):
///  S = sum w_i,  ln S = log1p(sum over i != r),  H = ln S - sum w_i E_i / S.
///
/// error    enclosures at the precision of construction, about 10 * 2^-precision relative if the logits' own widths are
///          below 2^-precision; wider logits widen each w_i by the same amount
class EnclosedRow {
 public:
  /// logits   (n) bounded, or nothing for a masked item
  /// throws   std::invalid_argument if a logit is unbounded or NaN
  explicit EnclosedRow(std::vector<std::optional<Enclosure>> logits);

  std::size_t size() const { return exponents_.size(); }
  std::size_t visible() const { return visible_; }
  bool fully_masked() const { return visible_ == 0; }
  /// Is item i visible?
  bool is_visible(std::size_t i) const { return exponents_.at(i).has_value(); }

  // The following need a visible item and throw std::logic_error otherwise.
  Enclosure maximum() const;               // of the logits; computed at construction
  Enclosure logit(std::size_t i) const;    // i visible
  Enclosure softmax(std::size_t i) const;  // the point 0 for a masked item
  Enclosure log_softmax(std::size_t i) const;
  Enclosure logsumexp() const;
  Enclosure entropy() const;  // nats
  /// The row beta x.
  EnclosedRow scaled(const Enclosure& beta) const;

 private:
  void add_up();
  void require_visible(const char* function) const;

  std::vector<std::optional<Enclosure>> exponents_;  // E_i
  std::vector<std::optional<Enclosure>> weights_;
  std::size_t visible_ = 0;
  std::size_t reference_ = 0;
  Enclosure reference_logit_;
  Enclosure highest_;  // of the E_i
  Enclosure sum_minus_one_;
  Enclosure weighted_deviation_;
};

}  // namespace softcheck::numerics
