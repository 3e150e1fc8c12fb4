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

Verdict verdict_of(Decision decision) {
  switch (decision) {
    case Decision::proved:
      return Verdict::proved;
    case Decision::violated:
      return Verdict::violated;
    case Decision::undecided:
      return Verdict::undecided;
  }
  return Verdict::undecided;
}

Enclosure distance(const Enclosure& exact, double got) {
  return std::isfinite(got) ? abs(Enclosure(got) - exact) : exact;
}

// |got - exact| <= threshold with a verdict found already: the sides are there to be read.
Certificate certificate(const std::string& claim, const std::string& witness, const Enclosure& exact, double got,
                        double threshold, Decision decision) {
  Certificate result;
  result.claim = claim;
  result.left = distance(exact, got);
  result.relation = Relation::less_equal;
  result.right = std::isfinite(threshold) ? Enclosure(threshold) : Enclosure(std::numeric_limits<double>::max());
  const bool positive = std::isfinite(got) && threshold > 0;
  result.slack = positive ? (result.left / result.right).upper_double() : std::isfinite(got) ? 0 : infinity;
  result.verdict = verdict_of(decision);
  result.precision = working_precision();
  result.witness = witness + " expected=" + exact.to_string(17) + " got=" + hex_float(got);
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

// An infinite value of the right sign where the true one, or one that the threshold allows, is beyond the output's
// largest number: it then rounds to infinity.
bool overflows_rightly(const Contract& contract, double got, const Enclosure& exact, double threshold) {
  if (!std::isinf(got)) return false;
  if (threshold == infinity) return true;
  const Enclosure magnitude = got > 0 ? exact : -exact;
  return less(magnitude + Enclosure(threshold), Enclosure(properties(contract.output).largest)) != Decision::proved;
}

// Zeros and values below the smallest normal number are judged absolutely. So are values below resolution: S >= 1 holds
// its sum only to within the accumulator's u, so that an entropy or a logarithm below u has no relative accuracy in any
// kernel of the contract.
bool counts_for_vacuity(const Contract& contract, double magnitude, double resolution = 0) {
  return magnitude >= properties(contract.output).smallest_normal && magnitude >= resolution;
}

double accumulator_roundoff(const Contract& contract) { return properties(contract.accumulator).unit_roundoff; }

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

Decision element_decision(const RowJudgement& judgement) { return judgement.row(); }

void judge_softmax_elements(const Row& row, RowFindings& findings) {
  RowCascade cascade(row.logits, row.theta);
  const Statistics statistics = statistics_of(cascade, row.contract, row.logits, row.theta);
  const ElementThreshold<UpperBound> threshold = softmax_error(row.contract, statistics);
  const double constant = upper(threshold.constant), slope = upper(threshold.slope), floor = upper(threshold.floor);
  const double maximum = cascade.statistics().maximum;
  const std::vector<ProbabilityBounds> bounds = filter_softmax(row.logits, cascade.statistics());

  if (std::isfinite(constant) && std::isfinite(slope)) {
    const RowJudgement judgement =
        cascade.judge_softmax(row.got, ElementTolerance::within_relative(constant, slope, floor));
    const Decision decision = element_decision(judgement);
    const std::size_t shown = !judgement.violated.empty()    ? judgement.violated.front()
                              : !judgement.undecided.empty() ? judgement.undecided.front()
                                                             : worst_element(row, threshold, bounds, maximum);
    const PrecisionScope precision(113);
    const Enclosure exact = Enclosure::between(bounds[shown].lower, bounds[shown].upper);
    const double deviation = std::isfinite(row.logits[shown]) ? (maximum - row.logits[shown]) / row.theta : 0;
    const Enclosure allowed =
        (Enclosure(constant) + Enclosure(slope) * Enclosure(deviation)) * exact + Enclosure(floor);
    findings.certificates.push_back(certificate("kernel.softmax.element",
                                                row.witness + " item=" + std::to_string(shown), exact, row.got[shown],
                                                allowed.upper_double(), decision));
  }

  const ElementThreshold<UpperBound> plain = softmax_error(row.contract, statistics, Grants::none);
  const double plain_constant = upper(plain.constant), plain_slope = upper(plain.slope);
  for (std::size_t i = 0; i < row.got.size(); ++i) {
    if (!counts_for_vacuity(row.contract, bounds[i].lower)) continue;
    ++findings.vacuity.judged;
    const double deviation = (maximum - row.logits[i]) / row.theta;
    if (!(plain_constant + plain_slope * deviation < 1)) ++findings.vacuity.vacuous;
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
  findings.certificates.push_back(certificate("kernel.softmax.row_sum", row.witness, Enclosure(1), sum_got,
                                              sum_threshold, judge_row_sum(row.got, sum_threshold)));
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
  if (overflows_rightly(row.contract, row.got[0], exact, allowed)) return;
  findings.certificates.push_back(certificate(claim, row.witness, exact, row.got[0], allowed, decision));
  if (!counts_for_vacuity(row.contract, magnitude, resolution)) return;
  ++findings.vacuity.judged;
  if (is_vacuous(upper(plain.rounding), magnitude)) ++findings.vacuity.vacuous;
}

void judge_logsumexp(const Row& row, RowFindings& findings) {
  RowCascade cascade(row.logits, row.theta);
  const Statistics statistics = statistics_of(cascade, row.contract, row.logits, row.theta);
  const auto threshold = logsumexp_error(row.contract, statistics);
  const Decision decision = cascade.judge_logsumexp(row.got[0], upper(threshold.total()));
  // The sum of m / theta and ln S may cancel: what is left is no more accurate than its terms.
  const double resolution = accumulator_roundoff(row.contract) * (1 + statistics.maximum_magnitude.value());
  judge_scalar(row, "kernel.logsumexp.value", threshold, logsumexp_error(row.contract, statistics, Grants::none),
               cascade.logsumexp(), resolution, decision, findings);
}

void judge_entropy(const Row& row, RowFindings& findings) {
  RowCascade cascade(row.logits, row.theta);
  const Statistics statistics = statistics_of(cascade, row.contract, row.logits, row.theta);
  const auto threshold = entropy_error(row.contract, statistics);
  const Decision decision = cascade.judge_entropy(row.got[0], upper(threshold.total()));
  judge_scalar(row, "kernel.entropy.value", threshold, entropy_error(row.contract, statistics, Grants::none),
               cascade.entropy(), accumulator_roundoff(row.contract), decision, findings);
}

// A claim over the elements of a row whose exact values come from enclosures alone: all decided, the worst one shown.
template <class Threshold, class Value>
void judge_elements(const Row& row, const std::string& claim, Threshold&& threshold, Value&& value,
                    RowFindings& findings) {
  std::optional<Certificate> shown;
  for (std::size_t i = 0; i < row.got.size(); ++i) {
    if (std::isinf(row.logits[i])) {
      // A masked item: 0 among coefficients, -inf among their logarithms.
      const double expected = claim == "kernel.log_softmax.element" ? -infinity : 0;
      if (row.got[i] == expected) continue;
      shown = certificate(claim, row.witness + " masked item=" + std::to_string(i), Enclosure(0), row.got[i], 0,
                          Decision::violated);
      break;
    }
    const double allowed = threshold(i);
    if (allowed == infinity) continue;
    {
      const PrecisionScope precision(64);
      if (overflows_rightly(row.contract, row.got[i], value(i), allowed)) continue;
    }
    const Decision decision = decide(row.got[i], allowed, [&] { return value(i); });
    const PrecisionScope precision(113);
    const Certificate found =
        certificate(claim, row.witness + " item=" + std::to_string(i), value(i), row.got[i], allowed, decision);
    const auto rank = [](const Certificate& c) {
      return c.verdict == Verdict::proved ? 0 : c.verdict == Verdict::undecided ? 1 : 2;
    };
    if (!shown || rank(found) > rank(*shown) || (rank(found) == rank(*shown) && found.slack > shown->slack))
      shown = found;
  }
  if (shown) findings.certificates.push_back(*shown);
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
      row, "kernel.log_softmax.element", [&](std::size_t i) { return upper(threshold.at(deviation(i))); },
      [&](std::size_t i) { return oracles.now().log_softmax(i); }, findings);
  for (std::size_t i = 0; i < row.got.size(); ++i) {
    if (std::isinf(row.logits[i])) continue;
    const PrecisionScope precision(64);
    const double magnitude = std::fabs(oracles.now().log_softmax(i).midpoint());
    if (!counts_for_vacuity(row.contract, magnitude, accumulator_roundoff(row.contract))) continue;
    ++findings.vacuity.judged;
    if (is_vacuous(upper(plain.rounding(deviation(i))), magnitude)) ++findings.vacuity.vacuous;
  }
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
  judge_elements(
      row, "kernel.adaptive_softmax.element",
      [&](std::size_t i) { return upper(threshold.at(deviation(i), coefficient(i))); },
      [&](std::size_t i) { return oracles.now().softmax(i); }, findings);
  for (std::size_t i = 0; i < row.got.size(); ++i) {
    if (std::isinf(row.logits[i]) || !counts_for_vacuity(row.contract, coefficient(i).value())) continue;
    ++findings.vacuity.judged;
    if (!(upper(bare.relative(deviation(i))) < 1)) ++findings.vacuity.vacuous;
  }
}

// A row with nothing visible has no softmax; the contract says what the kernel returns in its place.
void judge_masked_row(Op op, const Row& row, RowFindings& findings) {
  const auto n = static_cast<double>(row.logits.size());
  std::size_t wrong = 0;
  for (double value : row.got) {
    bool right = false;
    if (op == Op::logsumexp) {
      right = value == -infinity;
    } else if (row.logits.empty()) {
      right = value == 0;  // the entropy of an empty row
    } else if (row.contract.masked == MaskedRows::nan) {
      right = std::isnan(value);
    } else if (op == Op::entropy) {
      right = row.contract.masked == MaskedRows::zero ? value == 0 : std::isfinite(value) && value >= 0;
    } else if (row.contract.masked == MaskedRows::uniform) {
      right = value == round_to(row.contract.output, op == Op::log_softmax ? -std::log(n) : 1 / n);
    } else {
      right = op == Op::log_softmax ? value == -infinity : value == 0;
    }
    if (!right) ++wrong;
  }
  Certificate result;
  result.claim = "kernel.masked_row";
  result.witness = row.witness + (row.got.empty() ? "" : " got=" + hex_float(row.got[0]));
  result.left = Enclosure::integer(wrong);
  result.right = Enclosure(0);
  result.verdict = wrong == 0 ? Verdict::proved : Verdict::violated;
  findings.certificates.push_back(result);
}

}  // namespace

VacuityCount& VacuityCount::operator+=(const VacuityCount& other) {
  judged += other.judged;
  vacuous += other.vacuous;
  return *this;
}

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
  switch (op) {
    case Op::softmax:
      judge_softmax_elements(row, findings);
      break;
    case Op::log_softmax:
      judge_log_softmax(row, findings);
      break;
    case Op::logsumexp:
      judge_logsumexp(row, findings);
      break;
    case Op::entropy:
      judge_entropy(row, findings);
      break;
    case Op::adaptive_softmax:
      judge_adaptive_softmax(row, findings);
      break;
  }
  return findings;
}

}  // namespace softcheck::proptests
