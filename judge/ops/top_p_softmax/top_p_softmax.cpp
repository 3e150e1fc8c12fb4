// softmax of the items that top-k, top-p and min-p keep in a row, as in token samplers; all other items get 0 (B19).
#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <vector>

#include "judge/ops/rows/judged_row.hpp"
#include "judge/ops/rows/row_elements.hpp"
#include "judge/ops/top_p_softmax/filters.hpp"
#include "judge/ops/top_p_softmax/selected_items.hpp"
#include "numerics/enclosures/upper_bound.hpp"
#include "numerics/formats/next_double.hpp"
#include "numerics/formats/special_values.hpp"
#include "numerics/rounding/rounding.hpp"
#include "numerics/rounding/rounding_top_p.hpp"

namespace softcheck::proptests {
namespace {

using namespace numerics;

constexpr std::string_view element_claim = "kernel.top_p_softmax.element", set_claim = "kernel.top_p_softmax.kept";

// The thresholds of the kept items' weights in one row.
struct CachedThresholds {
  ElementThreshold<UpperBound> kept, plain;  // plain: without grants; per largest kept logit
  std::optional<ElementThreshold<UpperBound>>
      whole;            // if the kernel kept the whole row: weights that it need not divide again
  UpperBound scale{1};  // factor by which weights may be too small, if more items may have been kept
  ResultLimits limits = {};
};

// The weights of the kept items: the softmax of their logits.
class SelectedElements final : public RowElements {
 public:
  /// logits   (n) -inf for items that are not kept        places   (k) indices of the kept items
  /// cascade  of the logits, with sums as accurate as the output needs
  SelectedElements(std::span<const double> logits, RowCascade& cascade, Sums sums, std::span<const std::size_t> places,
                   const CachedThresholds& thresholds)
      : logits_(logits),
        theta_(cascade.statistics().theta),
        maximum_(cascade.statistics().maximum),
        places_(places),
        thresholds_(thresholds),
        oracles_([this] { return RowOracle(logits_, theta_); }) {
    const PrecisionScope precision(113);
    log_sum_ = quick_of(log1p(sum_minus_one(cascade, sums)));
    const auto& granted = thresholds_.kept;
    promised = std::isfinite(upper(granted.at(UpperBound(0), UpperBound(1)))) && std::isfinite(upper(granted.slope)) &&
               std::isfinite(upper(thresholds_.scale));
  }

  std::string_view claim() const override { return element_claim; }
  Enclosure value(std::size_t a) override { return oracles_.now().softmax(places_[a]); }
  Quick quick(std::size_t a) override {
    const long double gap = static_cast<long double>(maximum_) - logits_[places_[a]];
    const long double negative_log = log_sum_.value + gap / theta_, r = std::exp(-negative_log);
    // expl has at most 2 ulps (the GNU C library's manual, x86-64); its argument has three roundings and the error of
    // ln S.
    const long double relative = 4 * two_roundings * (1 + negative_log) + 2 * log_sum_.error;
    return {r, r * relative + 0x1p-1070L};  // covers an r that underflows
  }
  double threshold(std::size_t a) override {
    if (!promised) return infinity;
    const UpperBound own = deviation(a), r = size_of(quick(a));
    UpperBound allowed = thresholds_.kept.at(own, r);
    if (thresholds_.scale.value() != 1) {
      const UpperBound more(next_above(thresholds_.scale.value() - 1));
      allowed = thresholds_.kept.at(own, r * thresholds_.scale) + r * more;
    }
    // Without a second division the kernel keeps the weights that underflow in it, too.
    if (thresholds_.whole) allowed = numerics::maximum(allowed, thresholds_.whole->at(own, r));
    return upper(allowed);
  }
  ResultLimits limits(std::size_t) override { return thresholds_.limits; }
  bool is_vacuous(std::size_t a, double) override { return !(upper(thresholds_.plain.relative(deviation(a))) < 1); }
  bool repeats(std::size_t a) const override { return logits_[places_[a]] == logits_[places_[a - 1]]; }

 private:
  UpperBound deviation(std::size_t a) const { return deviation_at_most(maximum_, logits_[places_[a]], theta_); }

  std::span<const double> logits_;
  double theta_, maximum_;
  std::span<const std::size_t> places_;
  CachedThresholds thresholds_;
  OracleLadder<RowOracle> oracles_;
  Quick log_sum_{0, 0};
};

// The first value that is negative or -0, or that of a masked item and not +0. Where x / theta may overflow nothing is
// promised for masked items.
std::optional<ValueFinding> wrong_zero(const JudgedRow& row, bool overflow) {
  for (std::size_t i = 0; i < row.got.size(); ++i) {
    const double got = row.got[i];
    const bool masked = !overflow && std::isinf(row.logits[i]) && got != 0;
    if (!masked && (std::isnan(got) || !std::signbit(got))) continue;
    const std::string_view reason = masked ? "a masked item" : "no coefficient is negative or -0";
    return ValueFinding{element_claim, i, Enclosure(0), got, 0, Decision::violated, {}, false, reason};
  }
  return std::nullopt;
}

// The exact weights of a row, (n), of the items that are kept; of equal ones the lowest indices.
struct ExactWeights {
  explicit ExactWeights(const RowInputs& row) : logits(row.logits.size(), -infinity) {
    const std::vector<bool> kept = exactly_selected(row);
    for (std::size_t i = 0; i < kept.size(); ++i) {
      if (!kept[i]) continue;
      logits[i] = row.logits[i];
      places.push_back(i);
    }
  }
  std::vector<double> logits;
  std::vector<std::size_t> places;
};

constexpr OpInput of_rows(Role role) {
  return {role, Extent::rows, role == Role::k, NanReach::row, true, role != Role::k};
}

class TopPSoftmax final : public RowOp {
  static constexpr std::array inputs{OpInput{Role::logits}, of_rows(Role::k), of_rows(Role::top_p),
                                     of_rows(Role::min_p), of_rows(Role::temperature)};
  static constexpr std::array<std::string_view, 1> outputs{"output"};
  static constexpr std::array<std::string_view, 2> claims{element_claim, set_claim};
  static constexpr std::array<std::string_view, 3> words{"weights", "total", "theta"};

 public:
  constexpr TopPSoftmax()
      : RowOp({.name = "top_p_softmax",
               .inputs = inputs,
               .outputs = outputs,
               .claims = claims,
               .takes_mask = false,
               .has_limit = false,
               .may_be_in_place = true,
               .filters = true,
               .number = SOFTCHECK_OP_TOP_P_SOFTMAX,
               .answers = {.words = words, .coefficients = true, .expensive = true}}) {}

  Attributes attributes(std::uint64_t auxiliary, std::size_t n) const override { return drawn_filters(auxiliary, n); }
  bool has_input(std::size_t k, std::uint64_t auxiliary) const override {
    return has_filter_input(static_cast<FilterInput>(k), auxiliary);
  }
  std::uint64_t set_auxiliaries(const Domain& domain) const override { return set_filters(domain); }
  std::uint64_t closed_auxiliaries(const Domain& domain) const override { return closed_filters(domain); }
  std::vector<std::vector<double>> input_values(Format format, std::span<const double> logits,
                                                std::uint64_t auxiliary) const override {
    std::vector<std::vector<double>> inputs = filter_inputs(format, logits, auxiliary);
    inputs.insert(inputs.begin(), filtered_logits(format, logits, auxiliary));
    return inputs;
  }

  void judge(const JudgedRow& given, RowVerdicts& verdicts) const override {
    const JudgedRow row{with_own_filters(given), given.got};
    const PrecisionScope precision(113);
    RowCascade whole(row.logits, row.theta);
    const Statistics statistics = statistics_of(whole.statistics(), row.contract, row.logits, row.theta);
    const bool divided = row.attributes.k != 0 && row.attributes.renormalize;
    const TopPThreshold<UpperBound> granted(row.contract, statistics, Grants::all, divided),
        plain(row.contract, statistics, Grants::none, divided);
    const bool promised = is_promise(granted.choice().weights());
    if (const auto wrong = wrong_zero(row, !promised && may_overflow(row))) return verdicts.findings.push_back(*wrong);
    SelectedItems items(row, granted, whole, set_claim);
    ValueFinding set = items.set();
    if (items.none()) return verdicts.findings.push_back(std::move(set));
    CachedThresholds thresholds{items.threshold(granted), items.threshold(plain), std::nullopt, items.most_scale()};
    if (items.is_whole()) thresholds.whole = granted.choice().weights();
    // A kept item's weight is one of the summands of its divisor.
    thresholds.limits = {0, 1 + coefficient_overshoot(row.contract, statistics, 0), "a coefficient lies in [0, 1]"};
    SelectedElements elements(items.logits(), items.cascade(), sums_for(row.contract.output), items.places(),
                              thresholds);
    elements.resolved = is_resolved(row.contract, statistics);
    std::vector<double> weights;
    for (const std::size_t i : items.places()) weights.push_back(row.got[i]);
    const std::size_t before = verdicts.findings.size();
    judge_elements(*this, Extent::vectors, {row, weights}, elements, verdicts);
    for (std::size_t k = before; k < verdicts.findings.size(); ++k) {
      ValueFinding& found = verdicts.findings[k];
      if (found.item) found.item = items.places()[*found.item];
      found.errors.worst_element = items.places()[found.errors.worst_element];
    }
    verdicts.findings.push_back(std::move(set));
  }

  void enclose(const RowInputs& given, std::span<double> lower, std::span<double> upper) const override {
    const RowInputs row = with_own_filters(given);
    const ExactWeights exact(row);
    OracleLadder<RowOracle> oracles([&] { return RowOracle(exact.logits, row.theta); });
    const PrecisionScope precision(113);
    std::ranges::fill(lower, 0);
    std::ranges::fill(upper, 0);
    for (const std::size_t i : exact.places) {
      const Enclosure best = refined(oracles.now().softmax(i), [&] { return oracles.now().softmax(i); });
      lower[i] = best.lower_double();
      upper[i] = best.upper_double();
    }
  }

  void grant(const RowInputs& given, std::span<double> allowed) const override {
    const RowInputs row = with_own_filters(given);
    const PrecisionScope precision(113);
    const ExactWeights exact(row);
    std::vector<double> values(row.logits.size(), 0);
    for (const std::size_t i : exact.places) values[i] = 1;  // marks a kept item
    const JudgedRow kept{row, values};
    RowCascade whole(row.logits, row.theta);
    const Statistics statistics = statistics_of(whole.statistics(), row.contract, row.logits, row.theta);
    const TopPThreshold<UpperBound> threshold(row.contract, statistics, Grants::all,
                                              row.attributes.k != 0 && row.attributes.renormalize);
    SelectedItems items(kept, threshold, whole, set_claim);
    CachedThresholds thresholds{items.threshold(threshold), items.threshold(threshold), std::nullopt, UpperBound(1)};
    if (exact.places.size() == statistics.visible) thresholds.whole = threshold.choice().weights();
    RowCascade cascade(exact.logits, row.theta);
    SelectedElements elements(exact.logits, cascade, sums_for(row.contract.output), exact.places, thresholds);
    std::ranges::fill(allowed, 0);
    for (std::size_t a = 0; a < exact.places.size(); ++a) {
      allowed[exact.places[a]] = granted(row.contract, elements, a);
    }
  }
};

constinit const TopPSoftmax top_p_softmax_op;

}  // namespace

constinit const Op Op::top_p_softmax = top_p_softmax_op;

}  // namespace softcheck::proptests
