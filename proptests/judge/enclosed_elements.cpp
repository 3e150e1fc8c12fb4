// log_softmax and adaptive_softmax: the exact values come from enclosures alone.
#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <map>
#include <optional>
#include <utility>

#include "numerics/adaptive_oracle.hpp"
#include "numerics/decision.hpp"
#include "proptests/judge/judged_row.hpp"

namespace softcheck::proptests {

using namespace numerics;

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

// |got - value| <= threshold, the value from an oracle made anew at each precision.
template <class Value>
Decision decide(double got, double threshold, Value&& value) {
  if (!std::isfinite(got)) return Decision::violated;
  if (threshold == infinity) return Decision::proved;
  return escalate([&] { return less_equal(abs(Enclosure(got) - value()), Enclosure(threshold)); });
}

// What judge_elements asks of an op, each of the element i, at the working precision.
struct ElementJudge {
  std::string claim;
  double masked;                                                                   // the value of a masked item
  std::function<Enclosure(std::size_t)> value;                                     // exact
  std::function<double(std::size_t)> threshold;                                    // absolute
  std::function<bool(std::size_t, double magnitude)> vacuous;                      // without grants
  std::function<bool(std::size_t)> overflows = [](std::size_t) { return false; };  // to -inf, before the value does
  double resolution = 0;  // smaller values have no relative accuracy
};

// A claim over the elements of a row whose exact values come from enclosures alone: all decided, the worst one shown.
void judge_elements(const JudgedRow& row, const ElementJudge& judge, RowFindings& findings) {
  if (const auto found = masked_item_that_is_not(judge.masked, judge.claim, row)) {
    findings.certificates.push_back(*found);
    return;
  }
  struct Worst {
    std::size_t item;
    Decision decision;
    double used;
  };
  const auto rank = [](Decision d) { return d == Decision::proved ? 0 : d == Decision::undecided ? 1 : 2; };
  std::optional<Worst> worst;
  for (std::size_t i = 0; i < row.got.size(); ++i) {
    if (std::isinf(row.logits[i])) continue;
    const PrecisionScope precision(64);
    const double allowed = judge.threshold(i);
    const Enclosure quick = judge.value(i);
    const double magnitude = std::fabs(quick.midpoint());
    findings.vacuity.add(row.contract, magnitude, judge.resolution, allowed == infinity || judge.vacuous(i, magnitude));
    if (allowed == infinity || overflows_rightly(row.contract, row.got[i], quick, allowed)) continue;
    if (row.got[i] == -infinity && judge.overflows(i)) continue;
    const Decision decision = decide(row.got[i], allowed, [&] { return judge.value(i); });
    const double used = std::isfinite(row.got[i]) ? std::fabs(row.got[i] - quick.midpoint()) / allowed : infinity;
    const bool worse =
        !worst || rank(decision) > rank(worst->decision) || (decision == worst->decision && used > worst->used);
    if (worse) worst = {i, decision, used};
  }
  if (!worst) return;
  const PrecisionScope precision(113);
  const std::size_t i = worst->item;
  findings.certificates.push_back(value_certificate(judge.claim, row.witness + " item=" + std::to_string(i),
                                                    judge.value(i), row.got[i], judge.threshold(i), worst->decision,
                                                    row.contract.output));
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

void judge_log_softmax(const JudgedRow& row, RowFindings& findings) {
  const RowCascade cascade(row.logits, row.theta);
  const Statistics statistics = statistics_of(cascade, row.contract, row.logits, row.theta);
  const auto threshold = log_softmax_error(row.contract, statistics);
  const auto plain = log_softmax_error(row.contract, statistics, Grants::none);
  OracleLadder<RowOracle> oracles([&] { return RowOracle(row.logits, row.theta); });
  const auto deviation = [&](std::size_t i) {
    const PrecisionScope precision(64);
    return UpperBound(std::max(0.0, oracles.now().deviation(i).upper_double()));
  };
  judge_elements(
      row,
      {.claim = "kernel.log_softmax.element",
       .masked = -infinity,
       .value = [&](std::size_t i) { return oracles.now().log_softmax(i); },
       .threshold = [&](std::size_t i) { return upper(threshold.at(deviation(i))); },
       .vacuous = [&](std::size_t i,
                      double magnitude) { return is_vacuous(upper(plain.rounding(deviation(i))), magnitude); },
       // x - max is not yet divided by theta.
       .overflows =
           [&](std::size_t i) {
             const Enclosure difference = oracles.now().deviation(i) * Enclosure(row.theta);
             return less(difference, Enclosure(overflow_limit(row.contract))) != Decision::proved;
           },
       .resolution = resolution_of_logarithms(row.contract, statistics)},
      findings);
}

void judge_adaptive_softmax(const JudgedRow& row, RowFindings& findings) {
  const RowCascade cascade(row.logits, 1);
  const Statistics plain = statistics_of(cascade, row.contract, row.logits, 1);
  const EntropyDefinition definition =
      row.contract.entropy == EntropyForm::paper ? EntropyDefinition::paper : EntropyDefinition::exact;
  OracleLadder<AdaptiveRowOracle> oracles([&] { return AdaptiveRowOracle(row.logits, definition); });
  const PrecisionScope precision(113);
  const RowOracle& sharpened = oracles.now().sharpened();
  Statistics scaled = numerics::row_statistics<UpperBound>(sharpened, plain.rescalings);
  const auto threshold = adaptive_temperature_error(row.contract, plain, scaled);
  const auto bare = adaptive_temperature_error(row.contract, plain, scaled, Grants::none);
  const auto deviation = [&](std::size_t i) {
    const PrecisionScope low(64);
    return UpperBound(std::max(0.0, oracles.now().sharpened().deviation(i).upper_double()));
  };
  const auto coefficient = [&](std::size_t i) {
    const PrecisionScope low(64);
    return UpperBound(std::max(0.0, oracles.now().softmax(i).upper_double()));
  };
  judge_elements(row,
                 {.claim = "kernel.adaptive_softmax.element",
                  .masked = 0,
                  .value = [&](std::size_t i) { return oracles.now().softmax(i); },
                  .threshold = [&](std::size_t i) { return upper(threshold.at(deviation(i), coefficient(i))); },
                  .vacuous = [&](std::size_t i, double) { return !(upper(bare.relative(deviation(i))) < 1); }},
                 findings);
}

}  // namespace softcheck::proptests
