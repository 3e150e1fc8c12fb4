// The k largest coefficients of a softmax and the items that have them (B18): a row's values are k weights, then k ids.
#include <algorithm>
#include <array>
#include <cmath>
#include <memory>
#include <numeric>
#include <optional>
#include <vector>

#include "judge/ops/rows/judged_row.hpp"
#include "judge/ops/rows/row_elements.hpp"
#include "judge/ops/topk_softmax/router.hpp"
#include "judge/ops/topk_softmax/topk_choice.hpp"
#include "numerics/enclosures/upper_bound.hpp"
#include "numerics/formats/special_values.hpp"
#include "numerics/rounding/rounding.hpp"
#include "numerics/rounding/rounding_topk.hpp"

namespace softcheck::proptests {
namespace {

using namespace numerics;

// The weights of some items in the softmax of all of a row's logits, or of the chosen ones.
class WeightElements final : public RowElements {
 public:
  /// logits   (n) at least one finite        places   (k) indices of the weights' items in logits
  WeightElements(std::span<const double> logits, std::vector<std::size_t> places, Format output, std::string_view claim)
      : claim_(claim), logits_(logits), places_(std::move(places)), cascade_(logits, 1), oracles_([this] {
          return RowOracle(logits_, 1);
        }) {
    const PrecisionScope precision(113);
    log_sum_ = quick_of(log1p(sum_minus_one(cascade_, sums_for(output))));
  }

  void set_thresholds(const ElementThreshold<UpperBound>& granted, const ElementThreshold<UpperBound>& plain) {
    granted_ = granted;
    plain_ = plain;
    promised = std::isfinite(upper(granted.at(UpperBound(0), UpperBound(1)))) && std::isfinite(upper(granted.slope));
  }

  RowCascade& cascade() { return cascade_; }
  bool is_masked(std::size_t a) const { return std::isinf(logits_[places_[a]]); }
  UpperBound deviation(std::size_t a) const { return deviation_at_most(maximum(), logits_[places_[a]], 1); }

  std::string_view claim() const override { return claim_; }
  Enclosure value(std::size_t a) override { return oracles_.now().softmax(places_[a]); }
  Quick quick(std::size_t a) override {
    if (is_masked(a)) return {0, 0};
    const long double negative_log = log_sum_.value + (static_cast<long double>(maximum()) - logits_[places_[a]]);
    const long double p = std::exp(-negative_log);
    // expl has at most 2 ulps (the GNU C library's manual, x86-64); its argument has two roundings and the error of ln
    // S.
    const long double relative = 4 * two_roundings * (1 + negative_log) + 2 * log_sum_.error;
    return {p, p * relative + 0x1p-1070L};  // covers a p that underflows
  }
  double threshold(std::size_t a) override {
    if (is_masked(a)) return 0;
    return promised ? upper(granted_.at(deviation(a), size_of(quick(a)))) : infinity;
  }
  bool is_vacuous(std::size_t a, double) override {
    return !is_masked(a) && !(upper(plain_.relative(deviation(a))) < 1);
  }

 private:
  double maximum() const { return cascade_.statistics().maximum; }

  std::string_view claim_;
  std::span<const double> logits_;
  std::vector<std::size_t> places_;
  RowCascade cascade_;
  OracleLadder<RowOracle> oracles_;
  Quick log_sum_{0, 0};
  ElementThreshold<UpperBound> granted_, plain_;
};

// The first weight that is negative or -0, or that of a masked item and not +0.
std::optional<ValueFinding> wrong_zero(std::span<const double> weights, std::span<const double> chosen,
                                       std::string_view claim) {
  for (std::size_t a = 0; a < weights.size(); ++a) {
    const double got = weights[a];
    const bool masked = std::isinf(chosen[a]) && got != 0;
    if (std::isnan(got) ? !masked : !masked && !std::signbit(got)) continue;
    const std::string_view reason = masked ? "the weight of an item of -inf" : "no weight is negative or -0";
    return ValueFinding{claim, a, Enclosure(0), got, 0, Decision::violated, {}, false, reason};
  }
  return std::nullopt;
}

// The first weight above 1 by more than its roundings (B2).
std::optional<ValueFinding> above_one(const Contract& contract, const Statistics& statistics,
                                      std::span<const double> weights, const WeightElements& elements) {
  for (std::size_t a = 0; a < weights.size(); ++a) {
    if (!(weights[a] > 1) || elements.is_masked(a)) continue;
    const double allowed = coefficient_overshoot(contract, statistics, upper(elements.deviation(a)));
    if (weights[a] - 1 <= allowed) continue;
    return ValueFinding{elements.claim(),
                        a,
                        Enclosure(1),
                        weights[a],
                        allowed,
                        Decision::violated,
                        {},
                        false,
                        "no weight exceeds 1 by more than its own roundings"};
  }
  return std::nullopt;
}

// sum r (largest chosen logit - x), and the chosen items' position in the row.
ChosenItems<UpperBound> chosen_items(std::size_t count, double maximum, std::span<const double> chosen,
                                     RowCascade& cascade) {
  const FilterStatistics& filter = cascade.statistics();
  const Approximation mean = cascade.mean_deviation();
  return {count, deviation_at_most(maximum, *std::ranges::max_element(chosen), 1),
          filter.visible == 0 ? UpperBound(0) : UpperBound(std::fmax(0, mean.value)) + UpperBound(mean.error)};
}

class TopkSoftmax final : public RowOp {
  static constexpr std::array inputs{OpInput{Role::logits},
                                     OpInput{Role::bias, Extent::classes, false, NanReach::row, true, true}};
  static constexpr std::array<std::string_view, 2> outputs{"weights", "ids"};
  static constexpr std::array<std::string_view, 3> claims{"kernel.topk_softmax.weight", "kernel.topk_softmax.ids",
                                                          "kernel.topk_softmax.order"};
  static constexpr std::array extents{Extent::vectors, Extent::vectors};
  static constexpr std::array elements_of{OutputElement::number, OutputElement::index};
  static constexpr std::array<std::string_view, 2> words{"weights", "total"};

 public:
  constexpr TopkSoftmax()
      : RowOp({.name = "topk_softmax",
               .inputs = inputs,
               .outputs = outputs,
               .extents = extents,
               .elements = elements_of,
               .claims = claims,
               .has_theta = false,
               .takes_mask = false,
               .has_limit = false,
               .wide_output = true,
               .number = SOFTCHECK_OP_TOPK_SOFTMAX,
               .answers = {.words = words, .expensive = true}}) {}

  Attributes attributes(std::uint64_t auxiliary, std::size_t n) const override { return drawn_choice(auxiliary, n); }
  std::uint64_t closed_auxiliaries(const Domain& domain) const override { return closed_choices(domain); }
  std::uint64_t set_auxiliaries(const Domain& domain) const override { return set_choices(domain); }
  bool has_input(std::size_t k, std::uint64_t auxiliary) const override { return k == 0 || has_bias(auxiliary); }
  std::vector<std::vector<double>> input_values(Format format, std::span<const double> logits,
                                                std::uint64_t auxiliary) const override {
    if (is_router(auxiliary)) return router_inputs(format, logits, auxiliary);
    return {{logits.begin(), logits.end()}, {}};
  }
  std::size_t width(std::size_t n, std::uint64_t auxiliary) const override {
    return static_cast<std::size_t>(drawn_choice(auxiliary, n).k);
  }
  std::size_t width_of(const RowInputs& row) const override { return static_cast<std::size_t>(row.attributes.k); }

  void judge(const JudgedRow& row, RowVerdicts& verdicts) const override {
    const std::size_t k = row.got.size() / 2;
    if (k == 0) return;
    const PrecisionScope precision(113);
    const std::span<const double> weights = row.got.first(k);
    const TopkChoice choice(row.logits, row.got.subspan(k), claims[1], claims[2]);
    if (const auto wrong = choice.wrong_index()) return verdicts.findings.push_back(*wrong);
    const RowCascade cascade(row.logits, 1);
    const Statistics statistics = statistics_of(cascade.statistics(), row.contract, row.logits, 1);
    const TopkThreshold<UpperBound> granted(row.contract, statistics);
    const std::vector<double> chosen = choice.logits();
    if (ranks_scores(row)) {
      const RouterChoice router(row, coefficients(row, granted));
      verdicts.findings.push_back(router.set(claims[1], row.got.subspan(k)));
      verdicts.findings.push_back(router.order(claims[2], row.got.subspan(k)));
    } else {
      verdicts.findings.push_back(choice.set(row.contract, granted));
      verdicts.findings.push_back(choice.order(row.contract, granted));
    }
    if (row.attributes.sigmoid) {
      SigmoidElements elements(row, chosen, claims[0]);
      return judge_weights(row, weights, chosen, elements, verdicts);
    }
    // If all chosen items are masked, the kernel divides 0 by 0.
    const bool divides = row.attributes.renormalize;
    if (divides && std::ranges::all_of(chosen, [](double x) { return std::isinf(x); })) {
      return verdicts.vacuity.add_row(true);
    }
    WeightElements elements = weights_of(row, choice.items(), chosen);
    set_thresholds(row, statistics, cascade, chosen, elements);
    if (row.attributes.routed_scale == 0) {
      if (const auto wrong = above_one(row.contract, statistics, weights, elements)) {
        return verdicts.findings.push_back(*wrong);
      }
    }
    judge_weights(row, weights, chosen, elements, verdicts);
  }

  // Of equal items, chooses those with the lowest indices.
  void enclose(const RowInputs& row, std::span<double> lower, std::span<double> upper) const override {
    const PrecisionScope precision(113);
    const std::vector<std::size_t> items = exact_items(row, lower.size() / 2);
    std::vector<double> chosen;
    for (const std::size_t item : items) chosen.push_back(row.logits[item]);
    if (items.empty()) return;
    const std::unique_ptr<RowElements> elements = exact_weights(row, items, chosen);
    for (std::size_t a = 0; a < items.size(); ++a) {
      const auto value = [&] { return factor_of(row) * elements->value(a); };
      const Enclosure exact = std::isinf(chosen[a]) ? Enclosure(0) : refined(value(), value);
      lower[a] = exact.lower_double();
      upper[a] = exact.upper_double();
      lower[items.size() + a] = upper[items.size() + a] = static_cast<double>(items[a]);
    }
  }

  void grant(const RowInputs& row, std::span<double> allowed) const override {
    const PrecisionScope precision(113);
    const std::vector<std::size_t> items = exact_items(row, allowed.size() / 2);
    std::vector<double> chosen;
    for (const std::size_t item : items) chosen.push_back(row.logits[item]);
    if (items.empty()) return;
    const std::unique_ptr<RowElements> weights = exact_weights(row, items, chosen);
    ScaledElements elements(*weights, row.attributes.routed_scale == 0 ? 1 : row.attributes.routed_scale, row.contract);
    // Ids have no threshold: another id is right if the two items' weights may be exchanged.
    std::ranges::fill(allowed, nan);
    for (std::size_t a = 0; a < items.size(); ++a) {
      allowed[a] = granted(row.contract, row.attributes.routed_scale == 0 ? *weights : elements, a);
    }
  }

  bool has_masked_value(std::size_t, std::size_t) const override { return true; }

 private:
  static Enclosure factor_of(const RowInputs& row) {
    return Enclosure(row.attributes.routed_scale == 0 ? 1 : row.attributes.routed_scale);
  }

  // Each item's coefficient.
  static std::vector<Coefficient> coefficients(const RowInputs& row, const TopkThreshold<UpperBound>& granted) {
    std::vector<Coefficient> result;
    if (row.attributes.sigmoid) {
      const SigmoidThreshold threshold(row.contract, 0);
      for (const double x : row.logits) result.push_back(sigmoid_coefficient(threshold, x));
      return result;
    }
    std::vector<std::size_t> places(row.logits.size());
    std::iota(places.begin(), places.end(), std::size_t{0});
    WeightElements elements(row.logits, std::move(places), row.contract.output, claims[0]);
    elements.set_thresholds(granted.weights(), granted.weights());
    for (std::size_t i = 0; i < row.logits.size(); ++i) {
      const Quick p = elements.quick(i);
      result.push_back({p.value, p.error, {UpperBound(elements.threshold(i)), UpperBound()}});
    }
    return result;
  }

  static std::vector<std::size_t> exact_items(const RowInputs& row, std::size_t k) {
    if (!ranks_scores(row)) return largest_items(row.logits, k);
    const RowCascade cascade(row.logits, 1);
    const Statistics statistics = statistics_of(cascade.statistics(), row.contract, row.logits, 1);
    const TopkThreshold<UpperBound> granted(row.contract, statistics);
    return RouterChoice(row, coefficients(row, granted)).items();
  }

  // The weights without their factor.
  static std::unique_ptr<RowElements> exact_weights(const RowInputs& row, const std::vector<std::size_t>& items,
                                                    std::span<const double> chosen) {
    if (row.attributes.sigmoid) return std::make_unique<SigmoidElements>(row, chosen, claims[0]);
    const RowCascade cascade(row.logits, 1);
    const Statistics statistics = statistics_of(cascade.statistics(), row.contract, row.logits, 1);
    std::unique_ptr<WeightElements> elements(new WeightElements(weights_of(row, items, chosen)));  // it cannot move
    set_thresholds(row, statistics, cascade, chosen, *elements);
    return elements;
  }

  // The k largest items in descending order; of equal ones the lowest indices.
  static std::vector<std::size_t> largest_items(std::span<const double> logits, std::size_t k) {
    std::vector<std::size_t> items(logits.size());
    std::iota(items.begin(), items.end(), std::size_t{0});
    const auto before = [&](std::size_t a, std::size_t b) {
      return logits[a] != logits[b] ? logits[a] > logits[b] : a < b;
    };
    std::partial_sort(items.begin(), items.begin() + static_cast<std::ptrdiff_t>(k), items.end(), before);
    items.resize(k);
    return items;
  }

  // Weights relative to all items of the row, or with renormalize to the chosen ones.
  static WeightElements weights_of(const RowInputs& row, const std::vector<std::size_t>& items,
                                   std::span<const double> chosen) {
    if (!row.attributes.renormalize) return {row.logits, items, row.contract.output, claims[0]};
    std::vector<std::size_t> places(items.size());
    std::iota(places.begin(), places.end(), std::size_t{0});
    return {chosen, std::move(places), row.contract.output, claims[0]};
  }

  static void set_thresholds(const RowInputs& row, const Statistics& statistics, const RowCascade& cascade,
                             std::span<const double> chosen, WeightElements& elements) {
    const TopkThreshold<UpperBound> granted(row.contract, statistics), plain(row.contract, statistics, Grants::none);
    if (!row.attributes.renormalize) return elements.set_thresholds(granted.weights(), plain.weights());
    const auto items = chosen_items(chosen.size(), cascade.statistics().maximum, chosen, elements.cascade());
    elements.set_thresholds(granted.renormalised(items), plain.renormalised(items));
  }

  void judge_weights(const JudgedRow& row, std::span<const double> weights, std::span<const double> chosen,
                     RowElements& elements, RowVerdicts& verdicts) const {
    // If all chosen coefficients of a router may underflow, the kernel divides 0 by 0.
    if (ranks_scores(row) && !elements.promised) return verdicts.vacuity.add_row(true);
    if (elements.promised || !may_overflow(row)) {
      if (const auto wrong = wrong_zero(weights, chosen, claims[0])) return verdicts.findings.push_back(*wrong);
    }
    if (row.attributes.routed_scale == 0) {
      return judge_elements(*this, Extent::vectors, {row, weights}, elements, verdicts);
    }
    ScaledElements scaled(elements, row.attributes.routed_scale, row.contract);
    judge_elements(*this, Extent::vectors, {row, weights}, scaled, verdicts);
  }
};

constinit const TopkSoftmax topk_softmax_op;

}  // namespace

constinit const Op Op::topk_softmax = topk_softmax_op;

}  // namespace softcheck::proptests
