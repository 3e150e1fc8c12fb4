// log_softmax and adaptive_softmax: elements decided by long doubles with a certified error, then by enclosures.
#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <map>
#include <optional>
#include <utility>

#include "numerics/adaptive_oracle.hpp"
#include "numerics/decision.hpp"
#include "numerics/special_values.hpp"
#include "proptests/judge/judged_row.hpp"
#include "proptests/judge/sharpened_row.hpp"

namespace softcheck::proptests {

using namespace numerics;

namespace {

// |got - value| <= threshold, the value from an oracle made anew at each precision.
template <class Value>
Decision decide(double got, double threshold, Value&& value) {
  if (!std::isfinite(got)) return Decision::violated;
  if (threshold == infinity) return Decision::proved;
  return escalate([&] { return less_equal(abs(Enclosure(got) - value()), Enclosure(threshold)); });
}

/// A real and a bound on its distance from value.
struct Quick {
  long double value;
  long double error;

  /// |got - real| <= threshold, where that can be told.
  Decision within(double threshold, double got) const {
    // One rounding in the difference, one in the sum.
    const long double distance = std::fabs(got - value);
    const long double margin = error + 2 * std::numeric_limits<long double>::epsilon() * (distance + error);
    if (distance + margin <= threshold) return Decision::proved;
    return distance - margin > threshold ? Decision::violated : Decision::undecided;
  }
};

// What judge_elements asks of an op, each of the element i.
struct ElementJudge {
  std::string_view claim;
  double masked;                                                                   // the value of a masked item
  std::function<Quick(std::size_t)> quick;                                         // nearly exact
  std::function<Enclosure(std::size_t)> value;                                     // exact, at the working precision
  std::function<double(std::size_t)> threshold;                                    // absolute
  std::function<bool(std::size_t, double magnitude)> vacuous;                      // without grants
  std::function<bool(std::size_t)> overflows = [](std::size_t) { return false; };  // to -inf, before the value does
  std::function<double(std::size_t)> excess = {};  // of coefficients: by how much they may exceed 1
  double resolution = 0;                           // smaller values have no relative accuracy
  bool promised = true;                            // is anything said of this row at all?
  bool resolved = true;                            // is_resolved
};

// What no threshold excuses: the first value that is not so.
std::optional<ValueFinding> broken_rule(const JudgedRow& row, const ElementJudge& judge) {
  // Of a row whose log-sum-exp overflows not even a masked item's value is promised.
  if (judge.promised) {
    if (auto found = masked_item_that_is_not(judge.masked, judge.claim, row)) return found;
  }
  return judge.excess ? coefficient_out_of_range(judge.claim, row, judge.excess) : std::nullopt;
}

Decision decide_element(const JudgedRow& row, const ElementJudge& judge, std::size_t i, const Quick& quick,
                        double allowed) {
  const double got = row.got[i];
  const Decision decision = quick.within(allowed, got);
  return decision == Decision::undecided ? decide(got, allowed, [&] { return judge.value(i); }) : decision;
}

// A claim over the elements of a row: all decided, the worst one shown.
void judge_elements(const JudgedRow& row, const ElementJudge& judge, RowVerdicts& verdicts) {
  verdicts.vacuity.add_row(!judge.promised, judge.resolved);
  if (const auto found = broken_rule(row, judge)) {
    verdicts.findings.push_back(*found);
    return;
  }
  ValueFinding worst{judge.claim, std::nullopt, Enclosure(0), 0, 0, Decision::proved, {}, false};
  double most_used = 0;
  for (std::size_t i = 0; i < row.got.size(); ++i) {
    if (std::isinf(row.logits[i])) continue;
    const Quick quick = judge.quick(i);
    const double allowed = judge.threshold(i), got = row.got[i];
    const auto exact = static_cast<double>(quick.value);
    const bool counted = verdicts.vacuity.add(row.contract, std::fabs(exact), judge.resolution,
                                              allowed == infinity || judge.vacuous(i, std::fabs(exact)));
    if (counted) worst.errors.add(row.contract.output, exact, static_cast<double>(got - quick.value), i, allowed);
    if (allowed == infinity) {
      const auto infinite = infinite_value(judge.claim, i, row.contract, got, judge.value(i));
      if (!infinite || judge.overflows(i)) continue;
      verdicts.findings.push_back(*infinite);
      return;
    }
    if (std::isinf(got) && overflows_rightly(row.contract, got, judge.value(i), allowed)) continue;
    if (got == -infinity && judge.overflows(i)) continue;
    const Decision decision = decide_element(row, judge, i, quick, allowed);
    const double used = std::isfinite(got) ? std::fabs(static_cast<double>(got - quick.value)) / allowed : infinity;
    const bool worse = !worst.item || severity(decision) > severity(worst.decision) ||
                       (decision == worst.decision && used > most_used);
    if (!worse) continue;
    worst.item = i;
    worst.decision = decision;
    most_used = used;
  }
  if (!worst.item) return;
  const PrecisionScope precision(113);
  worst.expected = judge.value(*worst.item);
  worst.got = row.got[*worst.item];
  worst.threshold = judge.threshold(*worst.item);
  verdicts.findings.push_back(std::move(worst));
}

// One oracle for each precision of the ladder, made when first asked for.
template <class Oracle>
class OracleLadder {
 public:
  explicit OracleLadder(std::function<Oracle()> make) : make_(std::move(make)) {}
  const Oracle& now() {
    std::optional<Oracle>& oracle = oracles_[working_precision()];
    if (!oracle) oracle.emplace(make_());
    return *oracle;
  }

 private:
  std::function<Oracle()> make_;
  std::map<unsigned, std::optional<Oracle>> oracles_;
};

}  // namespace

void judge_log_softmax(const JudgedRow& row, RowVerdicts& verdicts) {
  RowCascade cascade(row.logits, row.theta);
  const Statistics statistics = statistics_of(cascade.statistics(), row.contract, row.logits, row.theta);
  const auto threshold = log_softmax_error(row.contract, statistics);
  const auto plain = log_softmax_error(row.contract, statistics, Grants::none);
  const double maximum = cascade.statistics().maximum;
  const PrecisionScope precision(113);
  const Enclosure log_sum = log1p(ExactSums(cascade).sum_minus_one);
  const long double near_log_sum = nearest(log_sum), wide_theta = row.theta;
  const auto deviation = [&](std::size_t i) { return deviation_at_most(maximum, row.logits[i], row.theta); };
  const auto difference = [&](std::size_t i) { return Enclosure(maximum) - Enclosure(row.logits[i]); };
  // x and lse cancel where x - lse is taken: no more is left than the accuracy of max and of lse.
  const double cancelled = row.contract.lse == LseForm::uncentred
                               ? properties(row.contract.accumulator).unit_roundoff *
                                     (upper(statistics.maximum_magnitude) + upper(statistics.logsumexp_magnitude))
                               : 0;
  OracleLadder<RowOracle> oracles([&] { return RowOracle(row.logits, row.theta); });
  judge_elements(
      row,
      {.claim = "kernel.log_softmax.element",
       .masked = -infinity,
       .quick =
           [&](std::size_t i) {
             const long double value =
                 -((static_cast<long double>(maximum) - row.logits[i]) / wide_theta + near_log_sum);
             // A difference, a quotient, a sum of terms of one sign, and the logarithm's own.
             return Quick{value, 4 * std::numeric_limits<long double>::epsilon() * std::fabs(value)};
           },
       .value =
           [&](std::size_t i) {
             // 90 bits of ln S are as good as an oracle's until they are not enough.
             return working_precision() <= 113 ? -(difference(i) / Enclosure(row.theta)) - log_sum
                                               : oracles.now().log_softmax(i);
           },
       .threshold = [&](std::size_t i) { return upper(threshold.at(deviation(i))); },
       .vacuous = [&](std::size_t i,
                      double magnitude) { return is_vacuous(upper(plain.rounding(deviation(i))), magnitude); },
       // x - max is not yet divided by theta.
       .overflows =
           [&](std::size_t i) {
             if (row.contract.theta == ThetaUse::before) return false;
             return less(difference(i), Enclosure(overflow_limit(row.contract))) != Decision::proved;
           },
       .resolution = resolution_of_logarithms(row.contract, statistics) + cancelled,
       .promised = std::isfinite(upper(threshold.constant)),
       .resolved = is_resolved(Op::log_softmax, row.contract, statistics)},
      verdicts);
}

void judge_adaptive_softmax(const JudgedRow& row, RowVerdicts& verdicts) {
  RowCascade plain_cascade(row.logits, 1);
  const Statistics plain = statistics_of(plain_cascade.statistics(), row.contract, row.logits, 1);
  const EntropyDefinition definition =
      row.contract.entropy == EntropyForm::paper ? EntropyDefinition::paper : EntropyDefinition::exact;
  const PrecisionScope precision(113);
  SharpenedRow sharp(plain_cascade, row.logits, definition);
  const Statistics scaled = sharp.statistics(row.contract, plain.rescalings);
  const auto threshold = adaptive_temperature_error(row.contract, plain, scaled);
  const auto bare = adaptive_temperature_error(row.contract, plain, scaled, Grants::none);
  const bool narrow = properties(row.contract.output).precision <= 24;
  const auto deviation = [&](std::size_t i) { return sharp.deviation_ceiling(i); };
  const auto coefficient = [&](std::size_t i) { return sharp.coefficient_ceiling(i); };
  OracleLadder<AdaptiveRowOracle> oracles([&] { return AdaptiveRowOracle(row.logits, definition); });
  judge_elements(
      row,
      {.claim = "kernel.adaptive_softmax.element",
       .masked = 0,
       .quick =
           [&](std::size_t i) {
             const SharpenedRow::Near near = sharp.near(i);
             const Quick filtered{near.value, near.error};
             if (narrow) return filtered;
             const long double finer = sharp.finer(i);
             return Quick{finer, near.error + std::fabs(finer - static_cast<long double>(near.value))};
           },
       .value = [&](std::size_t i) { return working_precision() <= 113 ? sharp.softmax(i) : oracles.now().softmax(i); },
       .threshold = [&](std::size_t i) { return upper(threshold.at(deviation(i), coefficient(i))); },
       .vacuous = [&](std::size_t i, double) { return !(upper(bare.relative(deviation(i))) < 1); },
       .excess = [&](std::size_t i) { return upper(threshold.at(deviation(i), UpperBound(1))); },
       .promised = std::isfinite(upper(threshold.at(UpperBound(0), UpperBound(1))))},
      verdicts);
}

}  // namespace softcheck::proptests
