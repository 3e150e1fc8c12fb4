// loss = (1 - s) w_y (L - x_y) + s mean(w (L - x)) + z L^2, and its gradient by the logits (B14, B15).
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
#include "proptests/judge/ops/loss_terms.hpp"
#include "proptests/judge/ops/row_elements.hpp"

namespace softcheck::proptests {
namespace {

using namespace numerics;

// Bits of RowCase::beside.
constexpr std::uint64_t smoothing_bit = 1, z_loss_bit = 2, first_ignored_bit = 4, small_upstream_bit = 8,
                        softcap_bit = 16, weights_bit = 32;

// What a call's attributes are: each on or off, and the label to ignore one that no class has, or the first class. The
// caps are those of Gemma 2, and one that few logits stay below and no accumulator but f64 holds.
Attributes drawn_attributes(std::uint64_t beside, std::size_t classes) {
  static constexpr std::array caps{30.0, 50.0, 2.3};
  return {.label_smoothing = (beside & smoothing_bit) != 0 ? 0.1 : 0,
          .z_loss = (beside & z_loss_bit) != 0 ? 0x1p-10 : 0,
          .ignore_index = (beside & first_ignored_bit) != 0 ? 0 : usual_ignore_index,
          .softcap = (beside & softcap_bit) != 0 ? caps[classes % caps.size()] : 0};
}

// One for each class, the same for all rows of a call: in [1/8, 8), and every sixteenth or so 0.
std::vector<double> drawn_weights(Format format, std::size_t classes, std::uint64_t beside) {
  std::vector<double> weights;
  if ((beside & weights_bit) == 0) return weights;
  for (std::size_t j = 0; j < classes; ++j) {
    const std::uint64_t bits = hashed(classes, j);
    const double binade = std::ldexp(1 + std::fabs(signed_unit(hashed(bits, j))), static_cast<int>(bits % 6) - 3);
    weights.push_back(bits / 64 % 16 == 0 ? 0 : round_to(format, binade));
  }
  return weights;
}

// The first and the last class, the likeliest and the least likely one, the one to ignore, or any.
double drawn_label(std::span<const double> logits, std::uint64_t beside) {
  const auto ignored = static_cast<double>(drawn_attributes(beside, logits.size()).ignore_index);
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

// The class weights are the last input, of calls that have them.
std::span<const double> weights_of(const RowInputs& row, std::size_t before) {
  return row.beside.size() > before ? std::span<const double>(row.beside[before]) : std::span<const double>();
}

// May a number that a kernel meets on its way be rounded, and still be one of the accumulator?
bool is_in_range(const Contract& contract, double magnitude) {
  return magnitude < properties(contract.accumulator).largest / 2;
}

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
      : claim_(claim), terms_(row, weights_of(row, 1)), oracles_([this] { return terms_.oracle(); }) {
    CrossEntropyRow<UpperBound> bounded = terms_.bounded();
    bounded.loss_magnitude = size_of(quick(0));
    const auto error = [&](Grants grants) {
      return cross_entropy_error(row.contract, terms_.options(), bounded, grants);
    };
    overflows_ = !is_in_range(row.contract, terms_.largest_of_loss());
    threshold_ = overflows_ ? infinity : upper(error(Grants::all).total());
    rounding_ = upper(error(Grants::none).rounding);
    // L and x_y cancel where L is a number of its own; no more is left than their accuracy. Behind a cap L - x_y has
    // that of two capped logits.
    const bool cancels = row.contract.lse == LseForm::uncentred || terms_.is_smoothed();
    const UpperBound sizes = terms_.statistics().largest_magnitude + terms_.statistics().logsumexp_magnitude;
    const double moved = 2 * softcap_error(row.contract, terms_.options());
    const double factor = std::fmax(1, upper(terms_.at_most(terms_.total_weight())));
    resolution = factor * (moved + resolution_of_logarithms(row.contract, terms_.statistics()) +
                           (cancels ? properties(row.contract.accumulator).unit_roundoff * upper(sizes) : 0));
    promised = std::isfinite(threshold_);
    // What overflows on the way says nothing of the contract's words.
    resolved = !overflows_ && moved < 1 && is_resolved(row.contract, terms_.statistics(), cancels);
    if (overflows_) resolution = infinity;
  }

  std::string_view claim() const override { return claim_; }
  Enclosure value(std::size_t) override { return oracles_.now().loss(); }
  Quick quick(std::size_t) override {
    const long double z = terms_.options().z_loss, l = terms_.logsumexp(), off = terms_.logsumexp_error();
    const Quick smoothed = terms_.smoothed();
    const long double squared = z * l * l;
    return {smoothed.value + squared, smoothed.error + 4 * two_roundings * squared +
                                          z * off * (2 * std::fabs(l) + off) +
                                          two_roundings * (smoothed.value + squared)};
  }
  double threshold(std::size_t) override { return threshold_; }
  bool is_vacuous(std::size_t, double magnitude) override { return numerics::is_vacuous(rounding_, magnitude); }
  bool overflows(std::size_t) override { return overflows_; }

 private:
  std::string_view claim_;
  LossTerms terms_;
  OracleLadder<CrossEntropyOracle> oracles_;
  double threshold_ = 0, rounding_ = 0;
  bool overflows_ = false;
};

class LossGradientElements final : public RowElements {
 public:
  LossGradientElements(const RowInputs& row, std::string_view claim)
      : claim_(claim),
        terms_(row, weights_of(row, 2)),
        upstream_(row.beside[1][0]),
        threshold_(row.contract, terms_.options(), terms_.bounded(), UpperBound(std::fabs(upstream_))),
        plain_(row.contract, terms_.options(), terms_.bounded(), UpperBound(std::fabs(upstream_)), Grants::none),
        oracles_([this] { return terms_.oracle(); }) {
    promised = is_in_range(row.contract, terms_.largest_of_gradient());
    // Logits that the cap moves by so much leave nothing of a coefficient.
    resolved = promised && 2 * softcap_error(row.contract, terms_.options()) < 1;
    if (!promised) resolution = infinity;
  }

  std::string_view claim() const override { return claim_; }
  Enclosure value(std::size_t j) override { return oracles_.now().gradient(j, Enclosure(upstream_)); }
  Quick quick(std::size_t j) override {
    const Difference& of = difference(j);
    const long double size = std::fabs(static_cast<long double>(upstream_)), slope = of.slope.value;
    const long double error = of.error * (slope + of.slope.error) + std::fabs(of.value) * of.slope.error;
    return {upstream_ * of.value * slope,
            size * (error + 2 * two_roundings * std::fabs(of.value) * slope) + 0x1p-1070L};
  }
  double threshold(std::size_t j) override {
    return promised ? upper(threshold_.element(element(j)).total()) : infinity;
  }
  bool overflows(std::size_t) override { return !promised; }
  bool repeats(std::size_t j) const override { return terms_.repeats(j); }
  // Without the slope of a cap, which is a difference itself: 1 less tanh^2.
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
    LossTerms::Slope slope;
  };
  const Difference& difference(std::size_t j) const {
    return last_.of(j, [this](std::size_t k) { return computed_difference(k); });
  }
  Difference computed_difference(std::size_t j) const {
    const long double z = terms_.options().z_loss, weight = terms_.total_weight();
    Difference of{};
    of.coefficient = std::exp(-terms_.negative_log(j));
    const long double twice = 2 * z * terms_.logsumexp(), alpha = weight + twice;
    of.subtrahend = terms_.subtrahend(j);
    of.value = alpha * of.coefficient - of.subtrahend;
    of.magnitude = std::fabs(alpha) * of.coefficient + of.subtrahend;
    of.slope = terms_.slope(j);
    // The terms of alpha may cancel. The least long double stands for a coefficient that vanishes.
    const long double terms = (weight + std::fabs(twice)) * of.coefficient;
    of.error = std::fabs(alpha) * of.coefficient * terms_.coefficient_error(j) +
               4 * two_roundings * (terms + of.subtrahend) + terms_.sum_error() * weight * of.coefficient +
               2 * z * terms_.logsumexp_error() * of.coefficient + 0x1p-1070L;
    return of;
  }
  CrossEntropyElement<UpperBound> element(std::size_t j) const {
    const Difference& of = difference(j);
    CrossEntropyElement<UpperBound> element;
    element.coefficient = terms_.at_most(of.coefficient * (1 + terms_.coefficient_error(j)) + 0x1p-1070L);
    element.deviation = terms_.at_most(terms_.deviation(j) + terms_.deviation_error());
    element.subtrahend = terms_.at_most(of.subtrahend);
    element.difference = terms_.at_most(std::fabs(of.value) + of.error);
    element.cap_slope = terms_.at_most(of.slope.value + of.slope.error);
    element.cap_square = terms_.at_most(of.slope.square + of.slope.error);
    return element;
  }

  std::string_view claim_;
  LossTerms terms_;
  double upstream_;
  mutable LastItem<Difference> last_;
  CrossEntropyGradientThreshold<UpperBound> threshold_, plain_;
  OracleLadder<CrossEntropyOracle> oracles_;
};

// What the two ops have in common.
class LabelledOp : public RowOp {
 public:
  Attributes attributes(std::uint64_t beside, std::size_t n) const override { return drawn_attributes(beside, n); }
  bool has_input(std::size_t k, std::uint64_t beside) const override {
    return !traits.inputs[k].optional || (beside & weights_bit) != 0;
  }
  bool ignores(const RowInputs& row) const override { return is_ignored(row); }
  std::uint64_t closed_besides(const Domain& domain) const override {
    return (domain.no_smoothing ? smoothing_bit : 0) | (domain.no_z_loss ? z_loss_bit : 0) |
           (domain.one_ignore_index ? first_ignored_bit : 0) | (domain.no_softcap ? softcap_bit : 0) |
           (domain.no_class_weights ? weights_bit : 0);
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
constexpr OpInput class_weights{Role::class_weights, Extent::classes, false, NanReach::row, true};

class CrossEntropy final : public LabelledOp {
  static constexpr std::array inputs{OpInput{Role::logits}, OpInput{Role::labels, Extent::rows, true}, class_weights};
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

  std::vector<std::vector<double>> input_values(Format format, std::span<const double> logits,
                                                std::uint64_t beside) const override {
    return {
        {logits.begin(), logits.end()}, {drawn_label(logits, beside)}, drawn_weights(format, logits.size(), beside)};
  }
  std::unique_ptr<RowElements> elements(const RowInputs& row) const override { return elements_of<LossElements>(row); }
};

class CrossEntropyBackward final : public LabelledOp {
  static constexpr std::array inputs{OpInput{Role::logits}, OpInput{Role::labels, Extent::rows, true},
                                     OpInput{Role::upstream, Extent::rows}, class_weights};
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
    return {{logits.begin(), logits.end()},
            {drawn_label(logits, beside)},
            {round_to(format, upstream)},
            drawn_weights(format, logits.size(), beside)};
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
