#include "numerics/oracles/adaptive_oracle.hpp"

#include <stdexcept>

namespace softcheck::numerics {
namespace {

// beta multiplies every logit: its width must stay below that of one exponential.
constexpr unsigned beta_guard_bits = 32;

RowOracle plain_row(std::span<const double> logits) {
  const PrecisionScope guard(working_precision() + beta_guard_bits);
  return RowOracle(logits);
}

void require_visible(bool fully_masked) {
  if (fully_masked) throw std::logic_error("adaptive temperature: need a visible item, got a fully masked row");
}

Enclosure epsilon_term(const Enclosure& probability, const Enclosure& epsilon) {
  return probability * log(probability + epsilon);
}

}  // namespace

Enclosure entropy_with_epsilon(const RowOracle& row) {
  require_visible(row.fully_masked());
  const Enclosure epsilon = Enclosure::decimal("1e-9");
  Enclosure sum, term;
  for (std::size_t i = 0; i < row.size(); ++i) {
    if (!row.is_visible(i)) continue;
    // Equal neighbours share their term: the logarithm is the most expensive step.
    const bool repeats = i > 0 && row.logits()[i] == row.logits()[i - 1];
    if (!repeats) term = epsilon_term(row.softmax(i), epsilon);
    sum -= term;
  }
  return sum;
}

Enclosure entropy_with_epsilon(const EnclosedRow& row) {
  require_visible(row.fully_masked());
  const Enclosure epsilon = Enclosure::decimal("1e-9");
  Enclosure sum;
  for (std::size_t i = 0; i < row.size(); ++i) {
    if (row.is_visible(i)) sum -= epsilon_term(row.softmax(i), epsilon);
  }
  return sum;
}

Enclosure inverse_temperature_polynomial(const Enclosure& entropy) {
  const auto thousandths = [](double number) { return Enclosure(number) / Enclosure(1000); };
  Enclosure value = thousandths(-37);
  for (const double coefficient : {481, -2300, 4917, -1791}) value = value * entropy + thousandths(coefficient);
  return value;
}

Enclosure inverse_temperature(const Enclosure& entropy) {
  return maximum(inverse_temperature_polynomial(entropy), Enclosure(1));
}

AdaptiveRowOracle::AdaptiveRowOracle(std::span<const double> logits, EntropyDefinition form)
    : plain_(plain_row(logits)) {
  if (plain_.fully_masked()) return;
  {
    const PrecisionScope guard(working_precision() + beta_guard_bits);
    beta_ = inverse_temperature(form == EntropyDefinition::exact ? plain_.entropy() : entropy_with_epsilon(plain_));
  }
  sharpened_ = RowOracle::at_inverse_temperature(logits, *beta_);
}

Enclosure AdaptiveRowOracle::entropy() const { return plain_.entropy(); }

Enclosure AdaptiveRowOracle::entropy_eps() const { return entropy_with_epsilon(plain_); }

const Enclosure& AdaptiveRowOracle::beta() const {
  require_visible(fully_masked());
  return *beta_;
}

const RowOracle& AdaptiveRowOracle::sharpened() const {
  require_visible(fully_masked());
  return *sharpened_;
}

Enclosure AdaptiveRowOracle::softmax(std::size_t i) const { return sharpened().softmax(i); }

}  // namespace softcheck::numerics
