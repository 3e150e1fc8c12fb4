#include "proptests/tensors/granted_row.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "numerics/rounding.hpp"
#include "numerics/row_cascade.hpp"
#include "numerics/special_values.hpp"
#include "proptests/judge/judged_row.hpp"
#include "proptests/judge/sharpened_row.hpp"

namespace softcheck::proptests {

using namespace numerics;

namespace {

void grant_all(std::span<double> allowed, double granted) { std::ranges::fill(allowed, granted); }

// Of element i of a row, from its threshold at its deviation.
template <class At>
void grant_each(std::span<const double> logits, bool promised, std::span<double> allowed, At&& at) {
  for (std::size_t i = 0; i < logits.size(); ++i) {
    allowed[i] = !promised ? infinity : std::isinf(logits[i]) ? 0 : upper(at(i));
  }
}

// At beta: rounding_temperature's threshold.
void grant_adaptive(const Contract& contract, std::span<const double> logits, std::span<double> allowed) {
  RowCascade cascade(logits, 1);
  const Statistics plain = statistics_of(cascade.statistics(), contract, logits, 1);
  const bool paper = contract.entropy == EntropyForm::paper;
  const PrecisionScope precision(113);
  const SharpenedRow sharp(cascade, logits, paper ? EntropyDefinition::paper : EntropyDefinition::exact);
  const auto threshold = adaptive_temperature_error(contract, plain, sharp.statistics(contract, plain.rescalings));
  const bool promised = std::isfinite(upper(threshold.at(UpperBound(0), UpperBound(1))));
  grant_each(logits, promised, allowed,
             [&](std::size_t i) { return threshold.at(sharp.deviation_ceiling(i), sharp.coefficient_ceiling(i)); });
}

}  // namespace

void granted_row(Op op, const Contract& contract, std::span<const double> logits, double theta,
                 std::span<double> allowed) {
  if (std::ranges::find(logits, infinity) != logits.end()) {
    if (op == Op::logsumexp) return grant_all(allowed, 0);
    std::vector<double> limit;
    for (const double logit : logits) limit.push_back(logit == infinity ? 0 : -infinity);
    return granted_row(op, contract, limit, theta, allowed);
  }
  if (op == Op::adaptive_softmax) return grant_adaptive(contract, logits, allowed);
  const RowCascade cascade(logits, theta);
  const Statistics statistics = statistics_of(cascade.statistics(), contract, logits, theta);
  if (op == Op::logsumexp) return grant_all(allowed, upper(logsumexp_error(contract, statistics).total()));
  if (op == Op::entropy) return grant_all(allowed, upper(contracted_entropy_error(contract, statistics).total()));
  const auto deviation = [&](std::size_t i) {
    return deviation_at_most(cascade.statistics().maximum, logits[i], theta);
  };
  if (op == Op::log_softmax) {
    const auto threshold = log_softmax_error(contract, statistics);
    return grant_each(logits, std::isfinite(upper(threshold.constant)), allowed,
                      [&](std::size_t i) { return threshold.at(deviation(i)); });
  }
  const auto threshold = softmax_error(contract, statistics);
  const bool promised =
      std::isfinite(upper(threshold.at(UpperBound(0), UpperBound(1)))) && std::isfinite(upper(threshold.slope));
  const std::vector<ProbabilityBounds> bounds = filter_softmax(logits, cascade.statistics());
  grant_each(logits, promised, allowed,
             [&](std::size_t i) { return threshold.at(deviation(i), UpperBound(bounds[i].upper)); });
}

}  // namespace softcheck::proptests
