// sparsemax: max(x - tau, 0), tau such that it sums to 1 (B20). No exponential is in it.
#include "numerics/sparsemax.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <memory>
#include <optional>
#include <vector>

#include "numerics/next_double.hpp"
#include "numerics/rounding_sparsemax.hpp"
#include "numerics/special_values.hpp"
#include "numerics/upper_bound.hpp"
#include "proptests/generators/row_families.hpp"
#include "proptests/judge/judged_row.hpp"
#include "proptests/judge/ops/row_elements.hpp"

namespace softcheck::proptests {
namespace {

using namespace numerics;

constexpr std::string_view sparsemax_claim = "kernel.sparsemax.element";

// What a row becomes by the number beside it: as it was drawn; its deviations scaled to some largest one; all but the
// first items at the edge of the support.
constexpr std::uint64_t first_scaled = 2, at_the_edge = 5;
constexpr std::array<double, 3> largest_deviations{0.5, 1, 4};

std::vector<double> supported_logits(Format format, std::span<const double> logits, std::uint64_t beside) {
  std::vector<double> values(logits.begin(), logits.end());
  const std::uint64_t form = beside % 8;
  double maximum = -infinity, minimum = infinity;
  for (const double x : values) {
    if (!std::isfinite(x)) continue;
    maximum = std::max(maximum, x);
    minimum = std::min(minimum, x);
  }
  if (form < first_scaled || !std::isfinite(maximum)) return values;
  // From half of the largest deviation to the whole of it: the maximum near 0 and elsewhere.
  const double base = form % 2 == 0 ? 0 : into_format(format, std::clamp(maximum, -4.0, 4.0));
  const double spread = std::max(maximum / 2 - minimum / 2, properties(Format::f64).smallest_normal);
  const std::size_t level = 1 + beside / 8 % 4;  // items that share the largest logit
  const double edge = 1 / static_cast<double>(level), step = properties(format).unit_roundoff * std::max(1.0, base);
  std::size_t place = 0;
  for (double& x : values) {
    if (!std::isfinite(x)) continue;
    const std::size_t k = place++;
    const double deviation = form < at_the_edge
                                 ? (maximum / 2 - x / 2) / spread * largest_deviations[form - first_scaled]
                             : k < level ? 0
                                         : edge + (static_cast<double>(k % 9) - 4) * step;
    x = into_format(format, base - deviation);
  }
  return values;
}

class SparsemaxElements final : public RowElements {
 public:
  explicit SparsemaxElements(const RowInputs& row)
      : logits_(row.logits), oracles_([this] { return SparsemaxOracle(logits_); }) {
    const PrecisionScope precision(113);
    maximum_ = oracles_.now().maximum();
    const Enclosure& top = oracles_.now().top();
    top_ = quick_of(top);
    low_ = top.lower_double();
    high_ = top.upper_double();
    for (const double x : logits_) {
      if (std::isfinite(x)) deviations_.push_back(maximum_ - x);
    }
    std::ranges::sort(deviations_);
    threshold_.emplace(row.contract, SparsemaxRow<UpperBound>{row.logits.size(), deviations_.size(), UpperBound(high_),
                                                              UpperBound(std::fabs(maximum_))});
    find_supports();
    const double error = upper(threshold_->element(UpperBound(0), UpperBound(high_), support_));
    promised = std::isfinite(error);
    // Of an error less than D / 4 comes from D itself, in bf16, too.
    far_ = 2 * (high_ + error);
  }

  std::string_view claim() const override { return sparsemax_claim; }
  Enclosure value(std::size_t i) override { return oracles_.now().value(i); }
  Quick quick(std::size_t i) override {
    const long double gap = static_cast<long double>(maximum_) - logits_[i], value = top_.value - gap;
    const long double error = top_.error + two_roundings * (std::fabs(gap) + std::fabs(value));
    if (value < -error) return {0, 0};
    return {std::max(value, 0.0L), error};
  }
  // An item whose deviation is beyond the largest coefficient by more than the error is exactly 0.
  double threshold(std::size_t i) override {
    if (!promised) return infinity;
    const UpperBound own = deviation_at_most(maximum_, logits_[i], 1);
    if (own.value() > far_) return 0;
    const double allowed = upper(threshold_->element(own, size_of(quick(i)), support_));
    const double beyond = (maximum_ - logits_[i]) * (1 - 0x1p-52) - high_;
    return beyond <= 0 ? allowed : std::max(0.0, next_above(allowed - beyond * (1 - 0x1p-52)));
  }
  // What is left of the largest coefficient and of a deviation that cancel.
  double metric(std::size_t, double magnitude) override { return magnitude == 0 ? 0 : high_; }
  bool is_vacuous(std::size_t i, double metric) override {
    return numerics::is_vacuous(upper(threshold_->element(UpperBound(high_), size_of(quick(i)), support_)), metric);
  }

 private:
  std::uint64_t count_below(double deviation) const {
    return static_cast<std::uint64_t>(std::ranges::lower_bound(deviations_, deviation) - deviations_.begin());
  }

  // The items that a kernel may take in or leave out wrongly, and what that makes of the largest coefficient: the
  // quotients (1 + D_(1) + ... + D_(k)) / k fall up to the exact support and rise behind it.
  void find_supports() {
    // Sums of long doubles err by less than 2^-40 for 2^24 items; what they cannot tell may go either way.
    constexpr double less = 1 - 0x1p-40, more = 1 + 0x1p-40;
    const std::uint64_t least = std::max<std::uint64_t>(count_below((low_ - upper(threshold_->inside())) * less), 1);
    const std::uint64_t sure = std::max<std::uint64_t>(count_below(low_ * less), 1);
    long double sum = 0;
    double first = 0, last = 0;  // the quotients of the smallest and of the largest support
    for (std::uint64_t k = 1; k <= deviations_.size(); ++k) {
      const double deviation = deviations_[k - 1], count = static_cast<double>(k);
      sum += deviation;
      const auto above = static_cast<double>(sum * (1 + 0x1p-40L));
      if (k > sure) {
        const UpperBound error = threshold_->condition(UpperBound(count), UpperBound(deviation), UpperBound(above));
        if (count * deviation * less > (1 + above + upper(error)) * more) break;
      }
      last = (1 + above) / count * more;
      if (k == least) first = last;
      support_.most = k;
    }
    const bool exact = support_.most == least;
    support_.moved = UpperBound(exact ? 0 : std::max({0.0, first - low_, last - low_}) * more);
    // The quotient less 1 / k.
    const double mean = last - 1 / static_cast<double>(support_.most) * less;
    support_.mean_deviation = exact ? UpperBound(std::max(0.0, mean)) : UpperBound(high_) + support_.moved;
  }

  std::span<const double> logits_;
  OracleLadder<SparsemaxOracle> oracles_;
  double maximum_ = 0, low_ = 0, high_ = 0, far_ = 0;
  Quick top_{0, 0};
  std::vector<double> deviations_;  // ascending
  std::optional<SparsemaxThreshold<UpperBound>> threshold_;
  SparsemaxSupport<UpperBound> support_;
};

// Those of a row's elements that may differ from the exact value; the others are exactly 0.
class FreeElements final : public RowElements {
 public:
  FreeElements(SparsemaxElements& all, std::span<const std::size_t> places) : all_(all), places_(places) {
    promised = all.promised;
  }
  std::string_view claim() const override { return all_.claim(); }
  Enclosure value(std::size_t a) override { return all_.value(places_[a]); }
  Quick quick(std::size_t a) override { return all_.quick(places_[a]); }
  double threshold(std::size_t a) override { return all_.threshold(places_[a]); }
  double metric(std::size_t a, double magnitude) override { return all_.metric(places_[a], magnitude); }
  bool is_vacuous(std::size_t a, double metric) override { return all_.is_vacuous(places_[a], metric); }

 private:
  SparsemaxElements& all_;
  std::span<const std::size_t> places_;
};

class Sparsemax final : public RowOp {
  static constexpr std::array inputs{OpInput{Role::logits}};
  static constexpr std::array<std::string_view, 1> outputs{"output"}, claims{sparsemax_claim};

 public:
  constexpr Sparsemax()
      : RowOp({.name = "sparsemax",
               .inputs = inputs,
               .outputs = outputs,
               .claims = claims,
               .has_theta = false,
               .takes_mask = false,
               .has_limit = false,
               .may_be_in_place = true,
               .number = SOFTCHECK_OP_SPARSEMAX,
               .answers = {.exponentials = false, .dear = true}}) {}

  std::vector<std::vector<double>> input_values(Format format, std::span<const double> logits,
                                                std::uint64_t beside) const override {
    return {supported_logits(format, logits, beside)};
  }
  std::unique_ptr<RowElements> elements(const RowInputs& row) const override {
    return std::make_unique<SparsemaxElements>(row);
  }

  void judge(const JudgedRow& row, RowVerdicts& verdicts) const override {
    const PrecisionScope precision(113);
    SparsemaxElements all(row);
    std::vector<std::size_t> places;
    std::vector<double> got;
    for (std::size_t i = 0; i < row.got.size(); ++i) {
      const bool masked = std::isinf(row.logits[i]), zero = masked || all.threshold(i) == 0;
      const bool wrong =
          all.promised && (zero ? row.got[i] != 0 || std::signbit(row.got[i]) : std::signbit(row.got[i]));
      if (wrong && !(std::isnan(row.got[i]) && !zero)) {
        const std::string_view reason = masked ? "a masked item"
                                        : zero ? "an item beyond the support"
                                               : "no coefficient is negative or -0";
        verdicts.findings.push_back(
            {sparsemax_claim, i, Enclosure(0), row.got[i], 0, Decision::violated, {}, false, reason});
        return;
      }
      if (zero) continue;
      places.push_back(i);
      got.push_back(row.got[i]);
    }
    FreeElements elements(all, places);
    const std::size_t before = verdicts.findings.size();
    judge_elements(*this, Extent::vectors, {row, got}, elements, verdicts);
    for (std::size_t k = before; k < verdicts.findings.size(); ++k) {
      ValueFinding& found = verdicts.findings[k];
      if (found.item) found.item = places[*found.item];
      found.errors.worst_element = places[found.errors.worst_element];
    }
  }
};

constinit const Sparsemax sparsemax_op;

}  // namespace

constinit const Op Op::sparsemax = sparsemax_op;

}  // namespace softcheck::proptests
