// sparsemax: max(x - tau, 0), with tau such that the values sum to 1 (B20). It has no exponential.
#include <algorithm>
#include <cmath>
#include <optional>
#include <vector>

#include "judge/ops/projections/projection.hpp"
#include "judge/ops/rows/judged_row.hpp"
#include "numerics/enclosures/upper_bound.hpp"
#include "numerics/formats/next_double.hpp"
#include "numerics/formats/special_values.hpp"
#include "numerics/oracles/projections.hpp"
#include "numerics/rounding/rounding_projections.hpp"

namespace softcheck::proptests {
namespace {

using namespace numerics;

class SparsemaxElements final : public RowElements {
 public:
  static constexpr std::string_view claim_id = "kernel.sparsemax.element";
  // An item 1 / k below k equal largest ones has coefficient 0.
  static constexpr SupportScale support_scale{1, [](double largest) { return 1 / largest; }};

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
    // Less than D / 4 of the error comes from D itself, even in bf16.
    far_ = 2 * (high_ + error);
  }

  std::string_view claim() const override { return claim_id; }
  Enclosure value(std::size_t i) override { return oracles_.now().value(i); }
  Quick quick(std::size_t i) override {
    const long double gap = static_cast<long double>(maximum_) - logits_[i], value = top_.value - gap;
    const long double error = top_.error + two_roundings * (std::fabs(gap) + std::fabs(value));
    if (value < -error) return {0, 0};
    return {std::max(value, 0.0L), error};
  }
  // An item whose deviation exceeds the largest coefficient by more than the error is exactly 0.
  double threshold(std::size_t i) override {
    if (!promised) return infinity;
    const UpperBound own = deviation_at_most(maximum_, logits_[i], 1);
    if (own.value() > far_) return 0;
    const double allowed = upper(threshold_->element(own, size_of(quick(i)), support_));
    const double beyond = (maximum_ - logits_[i]) * (1 - 0x1p-52) - high_;
    return beyond <= 0 ? allowed : std::max(0.0, next_above(allowed - beyond * (1 - 0x1p-52)));
  }
  // The largest coefficient and the deviation cancel: compare with the former.
  double metric(std::size_t, double magnitude) override { return magnitude == 0 ? 0 : high_; }
  bool is_vacuous(std::size_t i, double metric) override {
    return numerics::is_vacuous(upper(threshold_->element(UpperBound(high_), size_of(quick(i)), support_)), metric);
  }

 private:
  std::uint64_t count_below(double deviation) const {
    return static_cast<std::uint64_t>(std::ranges::lower_bound(deviations_, deviation) - deviations_.begin());
  }

  // Finds the supports that a kernel may choose by its roundings, and their effect on the largest coefficient. The
  // quotients (1 + D_(1) + ... + D_(k)) / k fall up to the exact support and rise after it; the test of an item errs by
  // at most the roundings of its own prefix.
  void find_supports() {
    // Long double sums err by less than 2^-40 for 2^24 items; items that this cannot decide may be in or out.
    constexpr double less = 1 - 0x1p-40, more = 1 + 0x1p-40;
    // Nearer items are in every support.
    const std::uint64_t near = std::max<std::uint64_t>(count_below((low_ - upper(threshold_->inside())) * less), 1);
    const std::uint64_t sure = std::max<std::uint64_t>(count_below(low_ * less), 1);
    std::uint64_t least = deviations_.size();
    long double sum = 0;
    double first = 0, last = 0;  // the quotients of the smallest and of the largest support
    for (std::uint64_t k = 1; k <= deviations_.size(); ++k) {
      const double deviation = deviations_[k - 1], count = static_cast<double>(k);
      sum += deviation;
      const auto above = static_cast<double>(sum * (1 + 0x1p-40L)), below = static_cast<double>(sum * (1 - 0x1p-40L));
      const bool undecided = least == deviations_.size();
      if (k > sure || (k > near && undecided)) {
        const double error = upper(threshold_->condition(k, UpperBound(deviation), UpperBound(above)));
        const bool kept = (count * deviation + error) * more < (1 + below) * less;
        if (undecided && !kept) {
          least = k - 1;
          first = last;
        }
        if (count * deviation * less > (1 + above + error) * more) break;
      }
      last = (1 + above) / count * more;
      support_.most = k;
    }
    least = std::min(least, support_.most);
    const bool exact = support_.most == least;
    support_.moved = UpperBound(exact ? 0 : std::max({0.0, first - low_, last - low_}) * more);
    // The quotient less 1 / k: prefix means grow with the number of items.
    support_.mean_deviation = UpperBound(std::max(0.0, last - 1 / static_cast<double>(support_.most) * less));
  }

  std::span<const double> logits_;
  OracleLadder<SparsemaxOracle> oracles_;
  double maximum_ = 0, low_ = 0, high_ = 0, far_ = 0;
  Quick top_{0, 0};
  std::vector<double> deviations_;  // ascending
  std::optional<SparsemaxThreshold<UpperBound>> threshold_;
  SparsemaxSupport<UpperBound> support_;
};

constinit const Projection<SparsemaxElements> sparsemax_op("sparsemax", SOFTCHECK_OP_SPARSEMAX);

}  // namespace

constinit const Op Op::sparsemax = sparsemax_op;

}  // namespace softcheck::proptests
