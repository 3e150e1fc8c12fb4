#pragma once

#include <cstdint>
#include <vector>

#include "numerics/enclosures/certificate.hpp"
#include "theory/lemma_2_1.hpp"
#include "theory/level_row.hpp"
#include "theory/scalar.hpp"

namespace softcheck::theory {

// How sliding windows, sinks and caps on logits change Lemma 2.1 and the entropy bounds.
//
// Window (Mistral): a query sees n <= W items at every length, so the n in e^(-delta)/n never exceeds W: each
// coefficient is at least e^(-delta)/W at every length. Such a head does not disperse.
//
// Sink (gpt-oss): a learned logit, one more item of the softmax, whose coefficient is discarded. The coefficients of
// the n items only become smaller, so the upper bounds and N(eps) of the items without the sink still hold. Lower
// bounds and entropy are those of a row of n + 1 items with the spread sink_spread().
//
// Cap (Gemma 2): c tanh(e/c) in place of e, c > 0. tanh grows and is concave above 0, so that a logit of at most X
// becomes one of at most c tanh(X/c); and tanh a - tanh b = 2 h (1 - g^2)/(1 - g^2 h^2) with h = tanh((a - b)/2) and
// g = tanh((a + b)/2) is largest where a = -b: a spread of delta becomes one of at most 2 c tanh(delta/(2 c)).

/// e^(-delta)/W: no coefficient of at most W items of spread delta (in units of theta) is smaller.
template <Scalar T>
T window_coefficient(std::uint64_t window, const T& exponent) {
  return exp(-exponent) / count_as<T>(window);
}

/// max(highest, sink) - min(lowest, sink), the spread of items and sink together; lowest <= highest.
template <Scalar T>
T sink_spread(const T& lowest, const T& highest, const T& sink) {
  return maximum(highest, sink) - minimum(lowest, sink);
}

/// c tanh(x/c); for x >= 0 an upper bound of every capped logit of at most x.
template <Scalar T>
T softcapped_logit(const T& cap, const T& x) {
  return cap * tanh(x / cap);
}

/// 2 c tanh(delta/(2 c)): no two capped logits are farther apart when the logits are delta apart or less.
template <Scalar T>
T softcapped_spread(const T& cap, const T& spread) {
  return T(2) * cap * tanh(spread / (T(2) * cap));
}

/// attention_variants.window: every coefficient of the row is at least e^(-delta/theta)/window.
///
/// window   >= the row's visible items          theta   > 0          throws   std::invalid_argument
numerics::Certificate certify_window(const LevelRow& row, double theta, std::uint64_t window);

/// attention_variants.sink_coefficient: with the sink no item's coefficient is larger than without it.
///
/// sink     finite, in the unit of the logits, and divided by theta like these
numerics::Certificate certify_sink_coefficient(const LevelRow& row, double theta, double sink);

/// attention_variants.sink_dispersion_length: with the sink, and beyond N(eps) of the items without it, every item's
/// coefficient is below eps. Empty if N is 2^62 or more.
std::vector<numerics::Certificate> certify_sink_dispersion_length(const Spread& spread, double sink, double eps);

/// attention_variants.sink_entropy_floor, three times: sink_spread() is the spread of the n + 1 logits; ln(n + 1) -
/// min(d, d^2/8) and the sharp floor of n + 1 items are at most the entropy of the n + 1 coefficients, d =
/// sink_spread() / theta.
std::vector<numerics::Certificate> certify_sink_entropy_floor(const LevelRow& row, double theta, double sink);

/// attention_variants.softcap_logit: |c tanh(x/c)| <= c tanh(X/c) where |x| <= X.
///
/// cap      c > 0 and finite          throws   std::invalid_argument
numerics::Certificate certify_softcap_logit(double x, double bound, double cap);

/// attention_variants.softcap_spread: |c tanh(x/c) - c tanh(y/c)| <= 2 c tanh(|x - y|/(2 c)), a tie where x = -y or
/// x = y.
numerics::Certificate certify_softcap_spread(double x, double y, double cap);

}  // namespace softcheck::theory
