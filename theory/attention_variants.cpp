#include "theory/attention_variants.hpp"

#include <cmath>
#include <iterator>
#include <stdexcept>
#include <string>

#include "theory/entropy_bounds.hpp"
#include "theory/tempered_row.hpp"

namespace softcheck::theory {

using numerics::Certificate;
using numerics::certify_agreement;
using numerics::certify_less;
using numerics::certify_less_equal;
using numerics::Enclosure;
using numerics::Sides;

namespace {

// The row of the softmax: the items and the sink.
LevelRow with_sink(const LevelRow& row, double sink) {
  std::vector<Level> levels(row.levels().begin(), row.levels().end());
  levels.push_back({sink, 1});
  return LevelRow(std::move(levels));
}

Enclosure coefficient_of(double logit, const LevelRow& row, const TemperedRow& tempered) {
  std::size_t j = 0;
  while (row.levels()[j].logit != logit) ++j;
  return tempered.coefficient(j);
}

Enclosure sink_exponent(const LevelRow& row, double theta, double sink) {
  return sink_spread(Enclosure(row.smallest()), Enclosure(row.largest()), Enclosure(sink)) / Enclosure(theta);
}

std::string sink_text(double sink) { return "sink=" + numerics::hex_float(sink) + " "; }

void require_sink(const char* function, double sink) {
  if (std::isfinite(sink)) return;
  throw std::invalid_argument(std::string(function) + ": need a finite sink, got " + std::to_string(sink));
}

void require_cap(const char* function, double cap) {
  if (cap > 0 && std::isfinite(cap)) return;
  throw std::invalid_argument(std::string(function) + ": need a cap > 0, got " + std::to_string(cap));
}

}  // namespace

Certificate certify_window(const LevelRow& row, double theta, std::uint64_t window) {
  require_theta("certify_window", theta);
  if (window < row.visible()) {
    throw std::invalid_argument("certify_window: need a window of at least " + std::to_string(row.visible()) +
                                " items, got " + std::to_string(window));
  }
  const std::string witness = "window=" + std::to_string(window) + " " + witness_text(row, theta);
  return certify_less_equal("attention_variants.window", witness, [&] {
    const TemperedRow tempered(row, 1 / Enclosure(theta));
    const Enclosure items = count_as<Enclosure>(window), bound = window_coefficient(window, tempered.spread());
    // With D, w and S as in TemperedRow: W w_last - S e^(-delta) = e^(-delta) (W - n + sum_j (1 - w_j)), terms >= 0.
    Enclosure room = items - tempered.items();
    for (std::size_t j = 0; j < tempered.levels(); ++j) room += tempered.count(j) * -expm1(-tempered.deviation(j));
    const Enclosure least = tempered.coefficient(tempered.levels() - 1);
    return Sides{bound, least, intersection(least - bound, room * least / items)};
  });
}

Certificate certify_sink_coefficient(const LevelRow& row, double theta, double sink) {
  require_theta("certify_sink_coefficient", theta);
  require_sink("certify_sink_coefficient", sink);
  const LevelRow extended = with_sink(row, sink);
  const std::string witness = sink_text(sink) + witness_text(row, theta);
  const auto shrunk = [&] {
    const TemperedRow alone(row, 1 / Enclosure(theta)), auxiliary(extended, 1 / Enclosure(theta));
    // alpha - alpha' = alpha alpha_sink, where alpha' and alpha_sink are the coefficients of item and sink in one row.
    const Enclosure sinks = coefficient_of(sink, extended, auxiliary);
    std::optional<Enclosure> least;
    for (std::size_t k = 0; k < alone.levels(); ++k) {
      const Enclosure smaller = coefficient_of(row.levels()[k].logit, extended, auxiliary);
      const Enclosure gap = intersection(alone.coefficient(k) - smaller, alone.coefficient(k) * sinks);
      least = least ? minimum(*least, gap) : gap;
    }
    return Sides{coefficient_of(row.largest(), extended, auxiliary), alone.coefficient(0), least};
  };
  return certify_less_equal("attention_variants.sink_coefficient", witness, shrunk);
}

std::vector<Certificate> certify_sink_dispersion_length(const Spread& spread, double sink, double eps) {
  require_sink("certify_sink_dispersion_length", sink);
  const auto items = dispersion_length(spread, eps).items;
  if (!items) return {};
  // One item more than N, in the row that gives one of them the most.
  const LevelRow sharpest({{spread.largest, 1}, {spread.smallest, *items}});
  const LevelRow extended = with_sink(sharpest, sink);
  const std::string witness =
      sink_text(sink) + "eps=" + numerics::hex_float(eps) + " " + witness_text(sharpest, spread.theta);
  return {certify_less("attention_variants.sink_dispersion_length", witness, [&] {
    const TemperedRow auxiliary(extended, 1 / Enclosure(spread.theta));
    return Sides{coefficient_of(spread.largest, extended, auxiliary), Enclosure(eps)};
  })};
}

std::vector<Certificate> certify_sink_entropy_floor(const LevelRow& row, double theta, double sink) {
  require_theta("certify_sink_entropy_floor", theta);
  require_sink("certify_sink_entropy_floor", sink);
  const LevelRow extended = with_sink(row, sink);
  const std::string claim = "attention_variants.sink_entropy_floor";
  std::vector<Certificate> result;
  result.push_back(certify_agreement(claim, "spread " + sink_text(sink) + witness_text(row, theta), [&] {
    return Sides{sink_exponent(row, theta, sink), Spread{extended.largest(), extended.smallest(), theta}.exponent()};
  }));
  for (Certificate& bound : certify_entropy_bounds(extended, theta)) {
    if (bound.claim == "entropy_bounds.floor") result.push_back(std::move(bound));
  }
  result.push_back(certify_sharp_floor(extended, theta));
  for (Certificate& certificate : result) {
    certificate.claim = claim;
    certificate.witness = sink_text(sink) + "beside its sink " + certificate.witness;
  }
  return result;
}

Certificate certify_softcap_logit(double x, double bound, double cap) {
  require_cap("certify_softcap_logit", cap);
  if (!(std::abs(x) <= bound && std::isfinite(bound))) {
    throw std::invalid_argument("certify_softcap_logit: need |x| <= bound, got " + std::to_string(x) + " and " +
                                std::to_string(bound));
  }
  const std::string witness =
      "x=" + numerics::hex_float(x) + " bound=" + numerics::hex_float(bound) + " cap=" + numerics::hex_float(cap);
  return certify_less_equal("attention_variants.softcap_logit", witness, [&] {
    const Enclosure c(cap), largest(bound), size(std::abs(x));
    const Enclosure left = abs(softcapped_logit(c, Enclosure(x))), right = softcapped_logit(c, largest);
    // tanh a - tanh b = tanh(a - b) (1 - tanh a tanh b)
    const Enclosure gap = c * tanh((largest - size) / c) * (1 - tanh(largest / c) * tanh(size / c));
    return Sides{left, right, intersection(right - left, gap)};
  });
}

Certificate certify_softcap_spread(double x, double y, double cap) {
  require_cap("certify_softcap_spread", cap);
  if (!std::isfinite(x) || !std::isfinite(y)) {
    throw std::invalid_argument("certify_softcap_spread: need finite logits, got " + std::to_string(x) + " and " +
                                std::to_string(y));
  }
  const std::string witness =
      "x=" + numerics::hex_float(x) + " y=" + numerics::hex_float(y) + " cap=" + numerics::hex_float(cap);
  return certify_less_equal("attention_variants.softcap_spread", witness, [&] {
    const Enclosure c(cap), spread = abs(difference(x, y));
    // tanh a - tanh b = tanh(a - b) (1 - tanh a tanh b): two routes, as neighbours cancel in the first.
    const Enclosure a = tanh(Enclosure(x) / c), b = tanh(Enclosure(y) / c);
    const Enclosure left = intersection(abs(softcapped_logit(c, Enclosure(x)) - softcapped_logit(c, Enclosure(y))),
                                        c * tanh(spread / c) * (1 - a * b));
    const Enclosure right = softcapped_spread(c, spread);
    // Times 1 - g^2 h^2 > 0: 2 c h (1 - g^2 h^2) - 2 c h (1 - g^2) = 2 c h g^2 (1 - h^2).
    const Enclosure h = tanh(spread / (2 * c)), g = tanh((Enclosure(x) + Enclosure(y)) / (2 * c));
    const Enclosure gap = 2 * c * h * square(g) * (1 - square(h));
    return Sides{left, right, intersection((right - left) * (1 - square(g * h)), gap)};
  });
}

}  // namespace softcheck::theory
