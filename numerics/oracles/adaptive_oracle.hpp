#pragma once

#include <cstddef>
#include <optional>
#include <span>

#include "numerics/rows/enclosed_row.hpp"
#include "numerics/rows/row_oracle.hpp"

namespace softcheck::numerics {

/// The entropy from which beta is computed: H, or the paper's code, H_eps = -sum p ln(p + 1e-9).
enum class EntropyDefinition { exact, paper };

/// H_eps = -sum p_i ln(p_i + 1e-9) (paper Fig. 4), with the real number 1e-9; 0 <= H - H_eps <= 1e-9 n. Needs a visible
/// item.
///
/// error    enclosure; at most about n 2^-precision (1 + H)
Enclosure entropy_with_epsilon(const RowOracle& row);
Enclosure entropy_with_epsilon(const EnclosedRow& row);

/// P(H) = -0.037 H^4 + 0.481 H^3 - 2.3 H^2 + 4.917 H - 1.791 (paper Fig. 4).
Enclosure inverse_temperature_polynomial(const Enclosure& entropy);

/// beta(H) = max(P(H), 1) if H > 0.5 else 1 (paper Fig. 4, eqs 15-18).
///
/// The condition is not evaluated: P increases on (-inf, 0.5] and P(0.5) < 1, so max(P, 1) is 1 there. An entropy
/// around 0.5, or a P around 1, therefore costs only the width of max(P, 1).
Enclosure inverse_temperature(const Enclosure& entropy);

/// Adaptive-temperature softmax of one row: softmax(beta x), beta = beta(H of softmax(x)).
///
/// error    enclosures at the precision of construction, as RowOracle's; beta has 32 more bits
/// throws   std::invalid_argument as RowOracle
class AdaptiveRowOracle {
 public:
  explicit AdaptiveRowOracle(std::span<const double> logits, EntropyDefinition form = EntropyDefinition::exact);

  std::size_t size() const { return plain_.size(); }
  bool fully_masked() const { return plain_.fully_masked(); }

  // The following need a visible item and throw std::logic_error otherwise.
  Enclosure entropy() const;      // H of softmax(x)
  Enclosure entropy_eps() const;  // H_eps of softmax(x)
  const Enclosure& beta() const;
  Enclosure softmax(std::size_t i) const;  // of beta x; the point 0 for a masked item
  /// The row beta x: its logsumexp, entropy and sums.
  const RowOracle& sharpened() const;

 private:
  RowOracle plain_;
  std::optional<Enclosure> beta_;
  std::optional<RowOracle> sharpened_;
};

}  // namespace softcheck::numerics
