#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <functional>
#include <utility>
#include <vector>

#include "numerics/oracles/cross_entropy.hpp"
#include "proptests/tests/numerics/bound_shares.hpp"
#include "proptests/tests/numerics/simulated_cross_entropy.hpp"

namespace softcheck::numerics::simulated {

inline std::vector<double> class_weights(std::size_t n) {
  std::vector<double> weights(n);
  for (std::size_t j = 0; j < n; ++j) weights[j] = static_cast<float>(0.3 + 0.1 * static_cast<double>(j % 11));
  return weights;
}

/// One kernel on one row: what it got, and the bounds.
struct Judged {
  double loss_share = 0, gradient_share = 0;  // of item 0 or the label
  bool holds = true;
  bool loss_exceeds = false, gradient_exceeds = false;  // the planted bounds
};

struct CrossEntropyCase {
  const char* words;
  std::vector<double> logits;
  std::size_t label = 0;
  std::size_t item = 0;
  CrossEntropyOptions options = {};
  bool weighted = false;
  Errors errors = Errors::nearest;
  CrossEntropyPlan plan = {};
  Format input = Format::f32, output = Format::f32;
  double upstream = 1, divisor = 1;
};

/// What is left out of a bound.
struct Left {
  std::function<void(Contract&)> contract = [](Contract&) {};
  std::function<void(CrossEntropyOptions&)> options = [](CrossEntropyOptions&) {};
  std::function<void(CrossEntropyRow<UpperBound>&)> row = [](CrossEntropyRow<UpperBound>&) {};
  std::function<void(CrossEntropyElement<UpperBound>&)> element = [](CrossEntropyElement<UpperBound>&) {};
};

inline Judged judged(const CrossEntropyCase& c, const Left& left = {}) {
  const PrecisionScope scope(113);
  Contract contract = parse_contract(c.words, c.input, c.output);
  const std::vector<double> weights = c.weighted ? class_weights(c.logits.size()) : std::vector<double>{};
  const CrossEntropyOracle oracle(c.logits, c.label, c.options, weights);
  auto row = oracle.row<UpperBound>(cross_entropy_rescalings(contract, c.options, c.logits));
  Arithmetic arithmetic(contract, c.errors);
  const auto got = cross_entropy(arithmetic, c.logits, c.label, c.options, weights, c.upstream, c.divisor, c.plan);
  const Enclosure scale = Enclosure(c.upstream) / Enclosure(c.divisor);
  const Enclosure exact = oracle.gradient(c.item, scale);
  auto element = oracle.element<UpperBound>(c.item);
  CrossEntropyOptions options = c.options;
  const auto bounds = [&] {
    const CrossEntropyGradientThreshold<UpperBound> threshold(contract, options, row, UpperBound(scale.upper_double()));
    return std::pair(upper(cross_entropy_error(contract, options, row).total()),
                     upper(threshold.element(element).total()));
  };
  Judged result;
  const auto [loss, gradient] = bounds();
  result.loss_share = used(got.loss, oracle.loss(), loss);
  result.gradient_share = used(got.gradient[c.item], exact, gradient);
  result.holds = holds(got.loss, oracle.loss(), loss) && holds(got.gradient[c.item], exact, gradient);
  left.contract(contract);
  left.options(options);
  left.row(row);
  left.element(element);
  const auto [wrong_loss, wrong_gradient] = bounds();
  result.loss_exceeds = exceeds(got.loss, oracle.loss(), wrong_loss);
  result.gradient_exceeds = exceeds(got.gradient[c.item], exact, wrong_gradient);
  return result;
}

}  // namespace softcheck::numerics::simulated
