#include "proptests/judge/row_judge.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <limits>
#include <map>
#include <optional>
#include <stdexcept>

#include "numerics/adaptive_oracle.hpp"
#include "numerics/rounding.hpp"
#include "numerics/row_cascade.hpp"
#include "proptests/judge/value_certificate.hpp"

namespace softcheck::proptests {
namespace {

using namespace numerics;

constexpr double infinity = std::numeric_limits<double>::infinity();
using Statistics = numerics::RowStatistics<UpperBound>;

UpperBound at_most(const Approximation& value) {
  return UpperBound(std::max(0.0, value.value)) + UpperBound(value.error);
}

// The row statistics that the bounds need, from the filter's values and their certified errors.
Statistics statistics_of(const RowCascade& row, const Contract& contract, std::span<const double> logits,
                         double theta) {
  const FilterStatistics& filter = row.statistics();
  Statistics result;
  result.size = filter.size;
  result.visible = filter.visible;
  result.rescalings = rescaling_count(contract, logits);
  result.theta = theta;
  result.log_sum = log1p(at_most(filter.sum_minus_one));
  result.mean_deviation = at_most(row.mean_deviation());
  result.mean_square_deviation = at_most(row.mean_square_deviation());
  const auto magnitude = [&](double logit) { return (abs(Enclosure(logit)) / Enclosure(theta)).upper_double(); };
  result.maximum_magnitude = UpperBound(magnitude(filter.maximum));
  double largest = 0;
  for (double logit : logits) {
    if (std::isfinite(logit)) largest = std::max(largest, std::fabs(logit));
  }
  result.largest_magnitude = UpperBound(magnitude(largest));
  const Approximation logsumexp = row.logsumexp();
  result.logsumexp_magnitude = UpperBound(std::fabs(logsumexp.value)) + UpperBound(logsumexp.error);
  return result;
}

// What judge_row works on.
struct Row {
  const Contract& contract;
  std::span<const double> logits;
  double theta;
  std::span<const double> got;
  const std::string& witness;
};

// S >= 1 is held only to within the error of its own sum: an entropy or a logarithm below it has no relative accuracy
// in any kernel of the contract. Where nothing is known of the sum itself, that is no excuse.
double resolution_of_logarithms(const Contract& contract, const Statistics& statistics) {
  const double sum = upper(sum_error(contract, statistics, Grants::none));
  return sum < 1 ? sum : 0;
}

// The element that comes closest to its threshold, or violates it most, by the filter's values.
std::size_t worst_element(const Row& row, const ElementThreshold<UpperBound>& threshold,
                          std::span<const ProbabilityBounds> bounds, double maximum) {
  std::size_t worst = 0;
  double largest = -1;
  for (std::size_t i = 0; i < row.got.size(); ++i) {
    if (!std::isfinite(row.got[i])) return i;
    const double coefficient = bounds[i].upper;
    const double deviation = std::isfinite(row.logits[i]) ? (maximum - row.logits[i]) / row.theta : 0;
    const double allowed =
        (upper(threshold.constant) + upper(threshold.slope) * deviation) * coefficient + upper(threshold.floor);
    const double error = std::fabs(row.got[i] - bounds[i].lower);
    const double used = allowed > 0 ? error / allowed : error > 0 ? infinity : 0;
    if (used > largest) {
      largest = used;
      worst = i;
    }
  }
  return worst;
}

// A masked item is 0 exactly, whatever the threshold's floor.
std::optional<Certificate> masked_item_that_is_not(double expected, const std::string& claim, const Row& row) {
  for (std::size_t i = 0; i < row.got.size(); ++i) {
    if (!std::isinf(row.logits[i]) || row.got[i] == expected) continue;
    return value_certificate(claim, row.witness + " masked item=" + std::to_string(i), Enclosure(0), row.got[i], 0,
                             Decision::violated, row.contract.output);
  }
  return std::nullopt;
}

void judge_softmax_elements(const Row& row, RowFindings& findings) {
  const std::string claim = "kernel.softmax.element";
  RowCascade cascade(row.logits, row.theta);
  const Statistics statistics = statistics_of(cascade, row.contract, row.logits, row.theta);
  const ElementThreshold<UpperBound> threshold = softmax_error(row.contract, statistics);
  const double constant = upper(threshold.constant), slope = upper(threshold.slope), floor = upper(threshold.floor);
  const double maximum = cascade.statistics().maximum;
  const std::vector<ProbabilityBounds> bounds = filter_softmax(row.logits, cascade.statistics());
  // For what is shown and counted; the verdicts come from the cascade, which encloses the deviations.
  const auto deviation = [&](std::size_t i) {
    return std::isfinite(row.logits[i]) ? (maximum - row.logits[i]) / row.theta : 0;
  };

  const bool promised = std::isfinite(constant) && std::isfinite(slope) && std::isfinite(floor);
  if (const auto found = masked_item_that_is_not(0, claim, row)) {
    findings.certificates.push_back(*found);
  } else if (promised) {
    const RowJudgement judgement =
        cascade.judge_softmax(row.got, ElementTolerance::within_relative(constant, slope, floor));
    const std::size_t shown = !judgement.violated.empty()    ? judgement.violated.front()
                              : !judgement.undecided.empty() ? judgement.undecided.front()
                                                             : worst_element(row, threshold, bounds, maximum);
    const PrecisionScope precision(113);
    const Enclosure exact = Enclosure::between(bounds[shown].lower, bounds[shown].upper);
    const Enclosure allowed =
        (Enclosure(constant) + Enclosure(slope) * Enclosure(deviation(shown))) * exact + Enclosure(floor);
    findings.certificates.push_back(value_certificate(claim, row.witness + " item=" + std::to_string(shown), exact,
                                                      row.got[shown], allowed.upper_double(), judgement.row(),
                                                      row.contract.output));
  }

  const ElementThreshold<UpperBound> plain = softmax_error(row.contract, statistics, Grants::none);
  const double plain_constant = upper(plain.constant), plain_slope = upper(plain.slope);
  for (std::size_t i = 0; i < row.got.size(); ++i) {
    const bool vacuous = !promised || !(plain_constant + plain_slope * deviation(i) < 1);
    findings.vacuity.add(row.contract, bounds[i].lower, 0, vacuous);
  }

  const ScalarThreshold<UpperBound> sum = row_sum_error(row.contract, statistics);
  const double sum_threshold = upper(sum.total());
  if (!std::isfinite(sum_threshold)) return;
  const PrecisionScope precision(113);
  Enclosure total;
  double last = 0;
  for (double value : row.got) {
    if (std::isfinite(value))
      total += Enclosure(value);
    else
      last = value;
  }
  const double sum_got = std::isfinite(last) ? total.midpoint() : last;
  findings.certificates.push_back(value_certificate("kernel.softmax.row_sum", row.witness, Enclosure(1), sum_got,
                                                    sum_threshold, judge_row_sum(row.got, sum_threshold),
                                                    row.contract.output));
}

// |got - value| <= threshold, the value from an oracle made anew at each precision.
template <class Value>
Decision decide(double got, double threshold, Value&& value) {
  if (!std::isfinite(got)) return Decision::violated;
  if (threshold == infinity) return Decision::proved;
  return escalate([&] { return less_equal(abs(Enclosure(got) - value()), Enclosure(threshold)); });
}

// What an approximation says of its real: at the very end of the range of doubles, that it is large.
Enclosure enclose(const Approximation& approximate) {
  constexpr double largest = std::numeric_limits<double>::max();
  if (std::isinf(approximate.value)) {
    return Enclosure(std::copysign(largest, approximate.value)) * Enclosure::between(1, 2);
  }
  const Enclosure error = Enclosure::between(-1, 1) * Enclosure(std::min(approximate.error, largest));
  return Enclosure(approximate.value) + error;
}

void judge_scalar(const Row& row, const std::string& claim, const ScalarThreshold<UpperBound>& threshold,
                  const ScalarThreshold<UpperBound>& plain, const Approximation& approximate, double resolution,
                  Decision decision, RowFindings& findings) {
  const PrecisionScope precision(113);
  const Enclosure exact = enclose(approximate);
  const double magnitude = std::fabs(approximate.value), allowed = upper(threshold.total());
  const bool promised = allowed < infinity;
  findings.vacuity.add(row.contract, magnitude, resolution, !promised || is_vacuous(upper(plain.rounding), magnitude));
  if (!promised || overflows_rightly(row.contract, row.got[0], exact, allowed)) return;
  findings.certificates.push_back(
      value_certificate(claim, row.witness, exact, row.got[0], allowed, decision, row.contract.output));
}

void judge_logsumexp(const Row& row, RowFindings& findings) {
  RowCascade cascade(row.logits, row.theta);
  const Statistics statistics = statistics_of(cascade, row.contract, row.logits, row.theta);
  const auto threshold = logsumexp_error(row.contract, statistics);
  const Decision decision = cascade.judge_logsumexp(row.got[0], upper(threshold.total()));
  // The sum of m / theta and ln S may cancel: what is left is no more accurate than its terms.
  const double resolution = resolution_of_logarithms(row.contract, statistics) +
                            properties(row.contract.accumulator).unit_roundoff * statistics.maximum_magnitude.value();
  judge_scalar(row, "kernel.logsumexp.value", threshold, logsumexp_error(row.contract, statistics, Grants::none),
               cascade.logsumexp(), resolution, decision, findings);
}

void judge_entropy(const Row& row, RowFindings& findings) {
  RowCascade cascade(row.logits, row.theta);
  const Statistics statistics = statistics_of(cascade, row.contract, row.logits, row.theta);
  const auto threshold = entropy_error(row.contract, statistics);
  const Decision decision = cascade.judge_entropy(row.got[0], upper(threshold.total()));
  judge_scalar(row, "kernel.entropy.value", threshold, entropy_error(row.contract, statistics, Grants::none),
               cascade.entropy(), resolution_of_logarithms(row.contract, statistics), decision, findings);
}

// What judge_elements asks of an op, each of the element i, at the working precision.
struct ElementJudge {
  std::string claim;
  double masked;                                               // the value of a masked item
  std::function<Enclosure(std::size_t)> value;                 // exact
  std::function<double(std::size_t)> threshold;                // absolute
  std::function<bool(std::size_t, double magnitude)> vacuous;  // without grants
  double resolution = 0;                                       // smaller values have no relative accuracy
};

// A claim over the elements of a row whose exact values come from enclosures alone: all decided, the worst one shown.
void judge_elements(const Row& row, const ElementJudge& judge, RowFindings& findings) {
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

void judge_log_softmax(const Row& row, RowFindings& findings) {
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
       .resolution = resolution_of_logarithms(row.contract, statistics)},
      findings);
}

void judge_adaptive_softmax(const Row& row, RowFindings& findings) {
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

void judge_visible_row(Op op, const Row& row, RowFindings& findings) {
  switch (op) {
    case Op::softmax:
      return judge_softmax_elements(row, findings);
    case Op::log_softmax:
      return judge_log_softmax(row, findings);
    case Op::logsumexp:
      return judge_logsumexp(row, findings);
    case Op::entropy:
      return judge_entropy(row, findings);
    case Op::adaptive_softmax:
      return judge_adaptive_softmax(row, findings);
  }
}

bool is_masked_value(Op op, MaskedRows masked, bool empty, double value) {
  if (op == Op::logsumexp) return value == -infinity;
  if (empty) return value == 0;  // the entropy of an empty row
  if (masked == MaskedRows::nan) return std::isnan(value);
  if (masked == MaskedRows::uniform) return op == Op::entropy && value == 0;
  return value == (op == Op::log_softmax ? -infinity : 0);
}

// As many as are wrong of a row that stands for the uniform one: judged as the row of zeros would be.
std::size_t not_uniform(Op op, const Row& row) {
  const std::vector<double> zeros(row.logits.size(), 0.0);
  RowFindings findings;
  judge_visible_row(op, {row.contract, zeros, 1, row.got, row.witness}, findings);
  return static_cast<std::size_t>(std::ranges::count_if(
      findings.certificates, [](const Certificate& found) { return found.verdict != Verdict::proved; }));
}

// A row with nothing visible has no softmax; the contract says what the kernel returns in its place.
void judge_masked_row(Op op, const Row& row, RowFindings& findings) {
  const MaskedRows masked = row.contract.masked;
  std::size_t wrong = 0;
  for (double value : row.got) wrong += !is_masked_value(op, masked, row.logits.empty(), value);
  if (wrong > 0 && masked == MaskedRows::uniform && op != Op::logsumexp && !row.logits.empty()) {
    wrong = not_uniform(op, row);
  }
  Certificate result;
  result.claim = "kernel.masked_row";
  result.witness = row.witness + (row.got.empty() ? "" : " got=" + hex_float(row.got[0]));
  result.left = Enclosure::integer(wrong);
  result.right = Enclosure(0);
  result.slack = wrong == 0 ? 0 : infinity;
  result.verdict = wrong == 0 ? Verdict::proved : Verdict::violated;
  findings.certificates.push_back(result);
}

}  // namespace

RowFindings judge_row(Op op, const Contract& contract, std::span<const double> logits, double theta,
                      std::span<const double> got, const std::string& witness) {
  const FpEnvironmentGuard environment;
  const std::size_t expected = is_row_scalar(op) ? 1 : logits.size();
  if (got.size() != expected) {
    throw std::invalid_argument("judge_row: need " + std::to_string(expected) + " values, got " +
                                std::to_string(got.size()));
  }
  RowFindings findings;
  const Row row{contract, logits, theta, got, witness};
  if (std::ranges::all_of(logits, [](double logit) { return std::isinf(logit); })) {
    judge_masked_row(op, row, findings);
    return findings;
  }
  judge_visible_row(op, row, findings);
  return findings;
}

}  // namespace softcheck::proptests
