#include "theory/sigmoid_attention.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <stdexcept>
#include <string>

namespace softcheck::theory {

using numerics::Certificate;
using numerics::certify_less_equal;
using numerics::Enclosure;
using numerics::Sides;

namespace {

constexpr double most_magnitude = 0x1p60;

double magnitude_of(const char* function, const LevelRow& row) {
  const double largest = std::max(std::fabs(row.largest()), std::fabs(row.smallest()));
  if (largest <= most_magnitude) return largest;
  throw std::invalid_argument(std::string(function) + ": need logits of at most 2^60, got " + std::to_string(largest));
}

// sigmoid(low + b) <= sigmoid(high + b). With d = high - low >= 0 their difference is
// sigmoid(high + b) sigmoid(-(low + b)) (1 - e^-d).
Sides ordered(double low, double high, const Enclosure& bias) {
  const Enclosure lower = sigmoid(Enclosure(low) + bias), higher = sigmoid(Enclosure(high) + bias);
  return {lower, higher, higher * sigmoid(-(Enclosure(low) + bias)) * -expm1(-difference(high, low))};
}

// The bound's sides for the item next to it.
Certificate certify(const char* claim, const std::string& what, const LevelRow& row,
                    const std::function<Sides()>& sides) {
  return certify_less_equal(claim, what + witness_text(row, 1), sides);
}

}  // namespace

std::vector<Certificate> certify_fixed_bias(const LevelRow& row, double bias) {
  const double most = magnitude_of("certify_fixed_bias", row);
  if (!std::isfinite(bias)) {
    throw std::invalid_argument("certify_fixed_bias: need a finite bias, got " + std::to_string(bias));
  }
  const std::string what = "bias=" + numerics::hex_float(bias) + " ";
  const char* const claim = "sigmoid_attention.fixed_bias";
  return {certify(claim, what, row, [&] { return ordered(-most, row.smallest(), Enclosure(bias)); }),
          certify(claim, what, row, [&] { return ordered(row.largest(), most, Enclosure(bias)); })};
}

std::vector<Certificate> certify_log_length(const LevelRow& row) {
  const double most = magnitude_of("certify_log_length", row);
  const char* const claim = "sigmoid_attention.log_length";
  return {certify(claim, "", row,
                  [&] {
                    // e^-B / (n + e^-B) is the coefficient of -B.
                    const Enclosure n = count_as<Enclosure>(row.visible()), least = exp(Enclosure(-most));
                    Sides sides = ordered(-most, row.smallest(), -log(n));
                    sides.left = least / (n + least);
                    return sides;
                  }),
          certify(claim, "", row, [&] {
            // e^B / n - e^x / (n + e^x) = (e^B - e^x) / n + e^2x / (n (n + e^x))
            const Enclosure n = count_as<Enclosure>(row.visible()), x = exp(Enclosure(row.largest()));
            const Enclosure gap = x * expm1(difference(most, row.largest())) / n + square(x) / (n * (n + x));
            return Sides{x / (n + x), exp(Enclosure(most)) / n, gap};
          })};
}

}  // namespace softcheck::theory
