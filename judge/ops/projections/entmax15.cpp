// entmax with alpha = 1.5: max(x / 2 - tau, 0)^2, with tau such that the values sum to 1 (B21). It has no exponential.
#include <algorithm>
#include <cmath>
#include <functional>
#include <iterator>
#include <optional>
#include <vector>

#include "judge/ops/projections/projection.hpp"
#include "judge/ops/rows/judged_row.hpp"
#include "numerics/enclosures/upper_bound.hpp"
#include "numerics/formats/special_values.hpp"
#include "numerics/oracles/projections.hpp"
#include "numerics/rounding/rounding_projections.hpp"

namespace softcheck::proptests {
namespace {

using namespace numerics;

// A compensated sum of fewer than 2^31 nonnegative long doubles; relative error 2^-63.
class PrefixSum {
 public:
  void add(long double term) {
    const long double next = sum_ + term, larger = std::max(sum_, term), smaller = std::min(sum_, term);
    lost_ += smaller - (next - larger);
    sum_ = next;
  }
  long double value() const { return sum_ + lost_; }

 private:
  long double sum_ = 0, lost_ = 0;
};

class EntmaxElements final : public RowElements {
 public:
  static constexpr std::string_view claim_id = "kernel.entmax15.element";
  // With k equal largest items each has the root 1 / sqrt(k).
  static constexpr SupportScale support_scale{2, [](double largest) { return 2 / std::sqrt(largest); }};

  explicit EntmaxElements(const RowInputs& row)
      : logits_(row.logits), oracles_([this] { return RootProjectionOracle(logits_); }) {
    const PrecisionScope precision(113);
    maximum_ = oracles_.now().maximum();
    const Enclosure& top = oracles_.now().top();
    top_ = quick_of(top);
    low_ = top.lower_double();
    high_ = top.upper_double();
    std::vector<double> finite;
    finite.reserve(logits_.size());
    std::ranges::copy_if(logits_, std::back_inserter(finite), [](double x) { return std::isfinite(x); });
    std::ranges::sort(finite, std::greater());
    half_deviations_.reserve(finite.size());
    for (const double x : finite) half_deviations_.push_back(half_deviation(x));
    threshold_.emplace(row.contract, row.logits.size(), half_deviations_.size(), UpperBound(std::fabs(maximum_)));
    // The long doubles of find_top() err by less than 2^-10 of an f64 kernel's error, 2^-40 of an f32 kernel's; a
    // square root of these differences takes the root of that factor.
    more_ = row.contract.accumulator == Format::f64 ? 1 + 0x1p-4 : 1 + 0x1p-16;
    find_top();
    const double error = upper(threshold_->difference(UpperBound(high_), UpperBound(high_), top_error_));
    promised = std::isfinite(error);
    // Less than d / 4 of the error comes from d itself, even in bf16.
    far_ = 2 * (high_ + error);
  }

  std::string_view claim() const override { return claim_id; }
  Enclosure value(std::size_t i) override { return oracles_.now().value(i); }
  Quick quick(std::size_t i) override {
    const Quick root = root_of(i);
    const long double value = root.value * root.value;
    return {value, root.error * (2 * root.value + root.error) + two_roundings * value};
  }
  // An item whose d exceeds the root of the largest coefficient by more than the error is exactly 0.
  double threshold(std::size_t i) override {
    if (!promised) return infinity;
    const UpperBound own = deviation_at_most(maximum_, logits_[i], 1) * UpperBound(0.5);
    if (own.value() > far_) return 0;
    const Quick root = root_of(i);
    const double beyond = (maximum_ / 2 - logits_[i] / 2) * (1 - 0x1p-51) - high_;
    const UpperBound size = size_of(root), error = threshold_->difference(own, beyond > 0 ? 0 : size, top_error_);
    if (beyond <= 0) return upper(threshold_->coefficient(size, error));
    if (upper(error) <= beyond) return 0;
    return upper(threshold_->coefficient(UpperBound(0), UpperBound(upper(error) - beyond).next()));
  }
  // The root of the largest coefficient and the deviation cancel: compare with the square of the root.
  double metric(std::size_t, double magnitude) override { return magnitude == 0 ? 0 : high_ * high_; }
  bool is_vacuous(std::size_t, double metric) override {
    const UpperBound top(high_);
    return numerics::is_vacuous(upper(threshold_->coefficient(top, threshold_->difference(top, top, top_error_))),
                                metric);
  }

 private:
  long double half_deviation(double x) const { return (static_cast<long double>(maximum_) - x) / 2; }

  Quick root_of(std::size_t i) const {
    const long double d = half_deviation(logits_[i]), root = top_.value - d;
    const long double error = top_.error + two_roundings * (d + std::fabs(root));
    if (root < -error) return {0, 0};
    return {std::max(root, 0.0L), error};
  }

  // The items with the smallest d, their root, and the root's error in a kernel.
  struct Prefix {
    RootPrefix<UpperBound> bounds;
    long double root = 1, error = 0;
    PrefixSum sum, squares;
  };
  static UpperBound above(long double x) { return UpperBound(std::max(0.0, static_cast<double>(x))).next(); }

  // The first `count` items: those of an earlier prefix and the next ones.
  Prefix extended(const Prefix& earlier, std::uint64_t count) const {
    Prefix prefix = earlier;
    for (std::uint64_t i = earlier.bounds.count; i < count; ++i) {
      prefix.sum.add(half_deviations_[i]);
      prefix.squares.add(half_deviations_[i] * half_deviations_[i]);
    }
    const auto k = static_cast<long double>(count);
    const long double mean = prefix.sum.value() / k, square = prefix.squares.value() / k;
    const long double variance = square - mean * mean, spread = std::sqrt(std::max(1 / k - variance, 0.0L));
    const UpperBound inverse = spread > 0 ? above(1 / spread) : UpperBound::infinity();
    prefix.root = mean + spread;
    prefix.bounds = {count,         above(mean), above(square),     above(1 / k + variance),
                     above(spread), inverse,     above(prefix.root)};
    prefix.error = upper(threshold_->root(prefix.bounds)) * more_;
    return prefix;
  }

  std::uint64_t count_below(long double limit) const {
    const auto found = std::ranges::lower_bound(half_deviations_, limit);
    return std::max<std::uint64_t>(static_cast<std::uint64_t>(found - half_deviations_.begin()), 1);
  }

  // Bounds the roots that a kernel may end with: at an item that it cannot distinguish from the root of its prefix, or
  // of the prefix before, the support may or may not end.
  void find_top() {
    const long double top = low_ * (1 - 0x1p-40L);
    Prefix prefix;
    prefix.bounds.count = 0;
    const Prefix support = extended(prefix, count_below(top));
    // Every prefix keeps items below this.
    const UpperBound within = threshold_->root_within(support.bounds) + threshold_->half_deviation(above(top));
    prefix = extended(prefix, count_below(top - upper(within) * more_));
    long double largest = 0;
    for (bool ends = false; !ends;) {
      const std::uint64_t k = prefix.bounds.count;
      ends = k == half_deviations_.size();
      const Prefix next = ends ? prefix : extended(prefix, k + 1);
      const long double d = ends ? infinity : half_deviations_[k];
      const long double off = ends ? 0 : upper(threshold_->half_deviation(above(d))) * more_;
      if (!(d + off < std::min(prefix.root - prefix.error, next.root - next.error))) {
        const long double moved = std::max(std::fabs(prefix.root - low_), std::fabs(prefix.root - high_));
        largest = std::max(largest, moved + prefix.error);
      }
      ends = ends || d - off > std::max(prefix.root + prefix.error, next.root + next.error);
      prefix = next;
    }
    top_error_ = above(largest);
  }

  std::span<const double> logits_;
  OracleLadder<RootProjectionOracle> oracles_;
  double maximum_ = 0, low_ = 0, high_ = 0, far_ = 0, more_ = 1;
  Quick top_{0, 0};
  std::vector<long double> half_deviations_;  // ascending
  std::optional<RootProjectionThreshold<UpperBound>> threshold_;
  UpperBound top_error_;
};

constinit const Projection<EntmaxElements> entmax15_op("entmax15", SOFTCHECK_OP_ENTMAX15);

}  // namespace

constinit const Op Op::entmax15 = entmax15_op;

}  // namespace softcheck::proptests
