// loss = (1 - s) (L - x_y) + s mean(L - x) + z L^2, and its gradient by the logits (B14, B15).
#include "numerics/cross_entropy.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <memory>

#include "numerics/rounding.hpp"
#include "numerics/special_values.hpp"
#include "numerics/upper_bound.hpp"
#include "proptests/judge/judged_row.hpp"
#include "proptests/judge/ops/gradient_inputs.hpp"
#include "proptests/judge/ops/last_item.hpp"
#include "proptests/judge/ops/row_elements.hpp"

namespace softcheck::proptests {
namespace {

using namespace numerics;

// Bits of RowCase::beside.
constexpr std::uint64_t smoothing_bit = 1, z_loss_bit = 2, first_ignored_bit = 4, small_upstream_bit = 8;

// What a call's attributes are: each on or off, and the label to ignore one that no class has, or the first class.
Attributes drawn_attributes(std::uint64_t beside) {
  return {.label_smoothing = (beside & smoothing_bit) != 0 ? 0.1 : 0,
          .z_loss = (beside & z_loss_bit) != 0 ? 0x1p-10 : 0,
          .ignore_index = (beside & first_ignored_bit) != 0 ? 0 : usual_ignore_index};
}

// The first and the last class, the likeliest and the least likely one, the one to ignore, or any.
double drawn_label(std::span<const double> logits, std::uint64_t beside) {
  const auto ignored = static_cast<double>(drawn_attributes(beside).ignore_index);
  if (logits.empty()) return ignored;
  const auto place = [&](auto found) { return static_cast<double>(found - logits.begin()); };
  const std::uint64_t seed = beside / 64;
  switch (seed % 8) {
    case 0:
      return 0;
    case 1:
      return static_cast<double>(logits.size() - 1);
    case 2:
      return ignored;
    case 3:
      return place(std::ranges::max_element(logits));
    case 4:
      return place(std::ranges::min_element(logits));
    default:
      return static_cast<double>(hashed(seed, 1) % logits.size());
  }
}

bool is_ignored(const RowInputs& row) { return row.beside[0][0] == static_cast<double>(row.attributes.ignore_index); }

// May a number that a kernel meets on its way be rounded, and still be one of the accumulator?
bool is_in_range(const Contract& contract, double magnitude) {
  return magnitude < properties(contract.accumulator).largest / 2;
}

// A row of finite logits whose label is not ignored: what the loss and its gradient are made of.
class Terms {
 public:
  explicit Terms(const RowInputs& row)
      : logits_(row.logits),
        label_(static_cast<std::size_t>(row.beside[0][0])),
        options_{.label_smoothing = row.attributes.label_smoothing, .z_loss = row.attributes.z_loss},
        cascade_(row.logits, 1),
        statistics_(statistics_of(cascade_.statistics(), row.contract, row.logits, 1)),
        maximum_(cascade_.statistics().maximum),
        log_sum_(near_log_sum(cascade_)) {
    if (options_.label_smoothing == 0) return;
    std::vector<double> magnitudes;
    for (const double x : logits_) {
      mean_deviation_ += static_cast<long double>(maximum_) - x;
      magnitudes.push_back(std::fabs(x));
    }
    mean_deviation_ /= static_cast<long double>(logits_.size());
    mean_magnitude_ = at_most(long_sum(magnitudes, {}).value / static_cast<long double>(logits_.size()));
  }

  const CrossEntropyOptions& options() const { return options_; }
  const Statistics& statistics() const { return statistics_; }
  std::size_t label() const { return label_; }
  std::size_t size() const { return logits_.size(); }

  // m - x_i; one rounding, as those that follow.
  long double deviation(std::size_t i) const { return static_cast<long double>(maximum_) - logits_[i]; }
  // L - x_i = ln S + m - x_i: terms of one sign.
  long double negative_log(std::size_t i) const { return log_sum_.value + deviation(i); }
  long double logsumexp() const { return maximum_ + log_sum_.value; }
  // The maximum and ln S may cancel.
  long double logsumexp_error() const {
    return 2 * two_roundings * (std::fabs(static_cast<long double>(maximum_)) + log_sum_.value) + log_sum_.error;
  }
  // (1 - s) (L - x_y) + s mean(L - x)
  long double smoothed() const {
    const long double s = options_.label_smoothing;
    return (1 - s) * negative_log(label_) + (s == 0 ? 0 : s * (log_sum_.value + mean_deviation_));
  }
  // That of a plain sum of n terms of one sign, and a handful of operations.
  long double smoothed_error() const {
    const long double terms = options_.label_smoothing == 0 ? 0 : static_cast<long double>(logits_.size());
    return two_roundings * (8 + terms) * smoothed() + 2 * log_sum_.error;
  }
  // Of e^-negative_log(i), relative: the GNU C library documents at most 2 ulps for expl on x86-64; its argument errs
  // by two roundings and ln S.
  long double coefficient_error(std::size_t i) const {
    return 4 * two_roundings * (1 + negative_log(i)) + 2 * log_sum_.error;
  }

  CrossEntropyRow<UpperBound> bounded() const {
    CrossEntropyRow<UpperBound> row;
    row.statistics = statistics_;
    row.target_deviation = deviation_at_most(maximum_, logits_[label_], 1);
    row.mean_deviation = at_most(mean_deviation_);
    row.mean_magnitude = mean_magnitude_;
    return row;
  }

  // The largest number that a kernel of the loss may meet: m - x_y, a sum over the classes, L^2.
  double largest_of_loss() const {
    const UpperBound lse = statistics_.logsumexp_magnitude;
    UpperBound largest = deviation_at_most(maximum_, logits_[label_], 1);
    if (options_.label_smoothing > 0) {
      const UpperBound mean = at_most(mean_deviation_) + statistics_.log_sum + mean_magnitude_ + lse;
      largest = largest + mean * UpperBound(static_cast<double>(logits_.size()));
    }
    if (options_.z_loss > 0) largest = largest + lse * lse;
    return upper(largest);
  }
  // And one of the gradient: 2 L.
  double largest_of_gradient() const {
    return options_.z_loss > 0 ? upper(statistics_.logsumexp_magnitude + statistics_.logsumexp_magnitude) : 0;
  }

  CrossEntropyOracle oracle() const { return {logits_, label_, options_}; }

  // No less than a number that is known to within n 2^-62 of itself.
  UpperBound at_most(long double value) const {
    const long double above = value * (1 + two_roundings * (16 + static_cast<long double>(logits_.size())));
    return UpperBound(std::nextafter(static_cast<double>(above), infinity));
  }

 private:
  static Quick near_log_sum(RowCascade& cascade) {
    const PrecisionScope precision(113);
    return quick_of(log1p(ExactSums(cascade).sum_minus_one));
  }

  std::span<const double> logits_;
  std::size_t label_;
  CrossEntropyOptions options_;
  RowCascade cascade_;
  Statistics statistics_;
  double maximum_;
  Quick log_sum_;
  long double mean_deviation_ = 0;
  UpperBound mean_magnitude_;
};

// Of a row that is ignored: nothing but 0.
class IgnoredElements final : public RowElements {
 public:
  explicit IgnoredElements(std::string_view claim) : claim_(claim) {}
  std::string_view claim() const override { return claim_; }
  Enclosure value(std::size_t) override { return Enclosure(0); }
  Quick quick(std::size_t) override { return {0, 0}; }
  double threshold(std::size_t) override { return 0; }
  bool is_vacuous(std::size_t, double) override { return false; }

 private:
  std::string_view claim_;
};

class LossElements final : public RowElements {
 public:
  LossElements(const RowInputs& row, std::string_view claim)
      : claim_(claim), terms_(row), oracles_([this] { return terms_.oracle(); }) {
    CrossEntropyRow<UpperBound> bounded = terms_.bounded();
    bounded.loss_magnitude = size_of(quick(0));
    const auto error = [&](Grants grants) {
      return cross_entropy_error(row.contract, terms_.options(), bounded, grants);
    };
    overflows_ = !is_in_range(row.contract, terms_.largest_of_loss());
    threshold_ = overflows_ ? infinity : upper(error(Grants::all).total());
    rounding_ = upper(error(Grants::none).rounding);
    // L and x_y cancel where L is a number of its own; no more is left than their accuracy.
    const bool cancels = row.contract.lse == LseForm::uncentred || terms_.options().label_smoothing > 0;
    const UpperBound sizes = terms_.statistics().largest_magnitude + terms_.statistics().logsumexp_magnitude;
    resolution = resolution_of_logarithms(row.contract, terms_.statistics()) +
                 (cancels ? properties(row.contract.accumulator).unit_roundoff * upper(sizes) : 0);
    promised = std::isfinite(threshold_);
    // What overflows on the way says nothing of the contract's words.
    resolved = !overflows_ && is_resolved(row.contract, terms_.statistics(), cancels);
    if (overflows_) resolution = infinity;
  }

  std::string_view claim() const override { return claim_; }
  Enclosure value(std::size_t) override { return oracles_.now().loss(); }
  Quick quick(std::size_t) override {
    const long double z = terms_.options().z_loss, l = terms_.logsumexp(), off = terms_.logsumexp_error();
    const long double smoothed = terms_.smoothed(), squared = z * l * l;
    return {smoothed + squared, terms_.smoothed_error() + 4 * two_roundings * squared +
                                    z * off * (2 * std::fabs(l) + off) + two_roundings * (smoothed + squared)};
  }
  double threshold(std::size_t) override { return threshold_; }
  bool is_vacuous(std::size_t, double magnitude) override { return numerics::is_vacuous(rounding_, magnitude); }
  bool overflows(std::size_t) override { return overflows_; }

 private:
  std::string_view claim_;
  Terms terms_;
  OracleLadder<CrossEntropyOracle> oracles_;
  double threshold_ = 0, rounding_ = 0;
  bool overflows_ = false;
};

class LossGradientElements final : public RowElements {
 public:
  LossGradientElements(const RowInputs& row, std::string_view claim)
      : claim_(claim),
        terms_(row),
        upstream_(row.beside[1][0]),
        threshold_(row.contract, terms_.options(), terms_.bounded(), UpperBound(std::fabs(upstream_))),
        plain_(row.contract, terms_.options(), terms_.bounded(), UpperBound(std::fabs(upstream_)), Grants::none),
        oracles_([this] { return terms_.oracle(); }) {
    promised = resolved = is_in_range(row.contract, terms_.largest_of_gradient());
    if (!promised) resolution = infinity;
  }

  std::string_view claim() const override { return claim_; }
  Enclosure value(std::size_t j) override { return oracles_.now().gradient(j, Enclosure(upstream_)); }
  Quick quick(std::size_t j) override {
    const Difference& of = difference(j);
    return {
        upstream_ * of.value,
        std::fabs(static_cast<long double>(upstream_)) * (of.error + two_roundings * std::fabs(of.value)) + 0x1p-1070L};
  }
  double threshold(std::size_t j) override {
    return promised ? upper(threshold_.element(element(j)).total()) : infinity;
  }
  bool overflows(std::size_t) override { return !promised; }
  double metric(std::size_t j, double) override {
    const Difference& of = difference(j);
    return upper(UpperBound(std::fabs(upstream_)) * terms_.at_most(of.magnitude));
  }
  bool is_vacuous(std::size_t j, double metric) override {
    return numerics::is_vacuous(upper(plain_.element(element(j)).rounding), metric);
  }

 private:
  // alpha p - b.
  struct Difference {
    long double coefficient, subtrahend, value, magnitude, error;
  };
  const Difference& difference(std::size_t j) const {
    return last_.of(j, [this](std::size_t k) { return computed_difference(k); });
  }
  Difference computed_difference(std::size_t j) const {
    const long double s = terms_.options().label_smoothing, z = terms_.options().z_loss;
    Difference of{};
    of.coefficient = std::exp(-terms_.negative_log(j));
    const long double alpha = 1 + 2 * z * terms_.logsumexp();
    of.subtrahend = (j == terms_.label() ? 1 - s : 0) + s / static_cast<long double>(terms_.size());
    of.value = alpha * of.coefficient - of.subtrahend;
    of.magnitude = std::fabs(alpha) * of.coefficient + of.subtrahend;
    // The least long double stands for a coefficient that vanishes.
    of.error = std::fabs(alpha) * of.coefficient * terms_.coefficient_error(j) + 4 * two_roundings * of.magnitude +
               2 * z * terms_.logsumexp_error() * of.coefficient + 0x1p-1070L;
    return of;
  }
  CrossEntropyElement<UpperBound> element(std::size_t j) const {
    const Difference& of = difference(j);
    CrossEntropyElement<UpperBound> element;
    element.coefficient = terms_.at_most(of.coefficient * (1 + terms_.coefficient_error(j)) + 0x1p-1070L);
    element.deviation = terms_.at_most(terms_.deviation(j));
    element.subtrahend = terms_.at_most(of.subtrahend);
    element.difference = terms_.at_most(std::fabs(of.value) + of.error);
    return element;
  }

  std::string_view claim_;
  Terms terms_;
  double upstream_;
  mutable LastItem<Difference> last_;
  CrossEntropyGradientThreshold<UpperBound> threshold_, plain_;
  OracleLadder<CrossEntropyOracle> oracles_;
};

// What the two ops have in common.
class LabelledOp : public RowOp {
 public:
  Attributes attributes(std::uint64_t beside, std::size_t) const override { return drawn_attributes(beside); }
  bool ignores(const RowInputs& row) const override { return is_ignored(row); }
  std::uint64_t closed_besides(const Domain& domain) const override {
    return (domain.no_smoothing ? smoothing_bit : 0) | (domain.no_z_loss ? z_loss_bit : 0) |
           (domain.one_ignore_index ? first_ignored_bit : 0);
  }

 protected:
  using RowOp::RowOp;
  ~LabelledOp() = default;
  template <class Elements>
  std::unique_ptr<RowElements> elements_of(const RowInputs& row) const {
    if (is_ignored(row)) return std::make_unique<IgnoredElements>(traits.claims[0]);
    return std::make_unique<Elements>(row, traits.claims[0]);
  }
};

constexpr std::array<std::string_view, 2> words{"lse", "total"};

class CrossEntropy final : public LabelledOp {
  static constexpr std::array inputs{OpInput{Role::logits}, OpInput{Role::labels, Extent::rows, true}};
  static constexpr std::array<std::string_view, 1> outputs{"loss"}, claims{"kernel.cross_entropy.loss"};

 public:
  constexpr CrossEntropy()
      : LabelledOp({.name = "cross_entropy",
                    .inputs = inputs,
                    .outputs = outputs,
                    .claims = claims,
                    .one_value_per_row = true,
                    .has_theta = false,
                    .takes_mask = false,
                    .takes_infinities = false,
                    .number = SOFTCHECK_OP_CROSS_ENTROPY,
                    .answers = {.words = words, .dear = true, .masked_rows = false}}) {}

  std::vector<std::vector<double>> input_values(Format, std::span<const double> logits,
                                                std::uint64_t beside) const override {
    return {{logits.begin(), logits.end()}, {drawn_label(logits, beside)}};
  }
  std::unique_ptr<RowElements> elements(const RowInputs& row) const override { return elements_of<LossElements>(row); }
};

class CrossEntropyBackward final : public LabelledOp {
  static constexpr std::array inputs{OpInput{Role::logits}, OpInput{Role::labels, Extent::rows, true},
                                     OpInput{Role::upstream, Extent::rows}};
  static constexpr std::array<std::string_view, 1> outputs{"output"}, claims{"kernel.cross_entropy_backward.element"};

 public:
  constexpr CrossEntropyBackward()
      : LabelledOp({.name = "cross_entropy_backward",
                    .inputs = inputs,
                    .outputs = outputs,
                    .claims = claims,
                    .has_theta = false,
                    .takes_mask = false,
                    .takes_infinities = false,
                    .may_be_in_place = true,
                    .number = SOFTCHECK_OP_CROSS_ENTROPY_BACKWARD,
                    .answers = {.words = words, .dear = true, .masked_rows = false}}) {}

  std::vector<std::vector<double>> input_values(Format format, std::span<const double> logits,
                                                std::uint64_t beside) const override {
    // 1, or as small as a mean over many rows makes it, of either sign.
    const double upstream = (beside & small_upstream_bit) != 0 ? 0x1p-6 * signed_unit(hashed(beside, 2)) : 1;
    return {{logits.begin(), logits.end()}, {drawn_label(logits, beside)}, {round_to(format, upstream)}};
  }
  std::unique_ptr<RowElements> elements(const RowInputs& row) const override {
    return elements_of<LossGradientElements>(row);
  }
};

constinit const CrossEntropy cross_entropy_op;
constinit const CrossEntropyBackward cross_entropy_backward_op;

}  // namespace

constinit const Op Op::cross_entropy = cross_entropy_op;
constinit const Op Op::cross_entropy_backward = cross_entropy_backward_op;

}  // namespace softcheck::proptests
