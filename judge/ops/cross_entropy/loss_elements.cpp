#include "judge/ops/cross_entropy/loss_elements.hpp"

#include <cmath>
#include <limits>
#include <utility>

#include "judge/ops/rows/judged_row.hpp"
#include "numerics/formats/special_values.hpp"
#include "numerics/rounding/rounding_operations.hpp"

namespace softcheck::proptests {

using namespace numerics;

namespace {

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

}  // namespace

std::unique_ptr<RowElements> ignored_elements(std::string_view claim) {
  return std::make_unique<IgnoredElements>(claim);
}

bool is_in_range(const Contract& contract, double magnitude) {
  return magnitude < properties(contract.accumulator).largest / 2;
}

LossElements::LossElements(const RowInputs& row, LossTerms terms, std::string_view claim)
    : claim_(claim), terms_(std::move(terms)), oracles_([this] { return terms_.oracle(); }) {
  CrossEntropyRow<UpperBound> bounded = terms_.bounded();
  bounded.loss_magnitude = size_of(quick(0));
  const auto error = [&](Grants grants) {
    return cross_entropy_error(row.contract, terms_.options(), bounded, grants);
  };
  overflows_ = !is_in_range(row.contract, terms_.largest_of_loss());
  threshold_ = overflows_ ? infinity : upper(error(Grants::all).total());
  rounding_ = upper(error(Grants::none).rounding);
  // L and x_y cancel if L is computed on its own: the result keeps only their absolute accuracy. With a softcap L - x_y
  // is as accurate as two capped logits.
  const bool cancels = !row.contract.has_centred_lse() || terms_.is_smoothed();
  const UpperBound sizes = terms_.statistics().largest_magnitude + terms_.statistics().logsumexp_magnitude;
  const double moved = 2 * softcap_error(row.contract, terms_.options());
  const double factor = std::fmax(1, upper(terms_.at_most(terms_.total_weight())));
  resolution = factor * (moved + resolution_of_logarithms(row.contract, terms_.statistics()) +
                         (cancels ? properties(row.contract.accumulator).unit_roundoff * upper(sizes) : 0));
  promised = std::isfinite(threshold_);
  // After an overflow the row does not count for vacuity.
  resolved = !overflows_ && moved < 1 && is_resolved(row.contract, terms_.statistics(), cancels);
  if (overflows_) resolution = infinity;
}

Quick LossElements::quick(std::size_t) {
  const long double z = terms_.options().z_loss, l = terms_.logsumexp(), off = terms_.logsumexp_error();
  const Quick smoothed = terms_.smoothed();
  const long double squared = z * l * l;
  return {smoothed.value + squared, smoothed.error + 4 * two_roundings * squared + z * off * (2 * std::fabs(l) + off) +
                                        two_roundings * (smoothed.value + squared)};
}

LossUpstream::LossUpstream(const RowInputs& row, double upstream) : number(upstream) { divide(row, upstream); }

// A kernel may divide by theta last, as it may by a mean's divisor.
void LossUpstream::divide(const RowInputs& row, long double by_divisor) {
  value = by_divisor;
  if (row.theta != 1) {
    const OperationModel<UpperBound> model(row.contract);
    value /= row.theta;
    error = error / row.theta + std::fabs(value) * two_roundings;
    divided = divided * UpperBound(std::fmax(1, 1 / row.theta * (1 + 0x1p-40)));
    lost_behind = lost_behind * UpperBound(std::fmax(1, 1 / row.theta * (1 + 0x1p-40))) + 2 * model.product_floor;
    in_range = in_range && is_in_range(row.contract, 2 * static_cast<double>(std::fabs(value)));
  }
  const auto above = static_cast<double>((std::fabs(value) + error) * (1 + 0x1p-50L));
  magnitude =
      row.theta == 1 && counted == nullptr ? UpperBound(std::fabs(number)) : UpperBound(above) * (1 + relative) + lost;
}

// Each weight is rounded once when read; the sum has one rounding per addition.
LossUpstream::LossUpstream(const RowInputs& row, double upstream, bool weighted)
    : number(upstream), counted(row.counted) {
  const OperationModel<UpperBound> model(row.contract);
  const long double sum = counted->sum();
  const auto rows = static_cast<long double>(counted->size());
  const long double quotient = upstream / sum;
  error = std::fabs(quotient) * (rows + 2) * two_roundings + std::numeric_limits<long double>::min();
  relative = cross_entropy_divisor_error<UpperBound>(row.contract, counted->size(), weighted);
  lost = UpperBound(2) * model.product_floor * (1 + relative);
  // A kernel may divide last: the division also scales the underflow errors of its products, and loses omega_m itself
  // (b15_slope_and_divisor_last).
  const UpperBound over(sum > 0 ? static_cast<double>(1 / sum * (1 + 0x1p-40L)) : infinity);
  divided = maximum(UpperBound(1), over * (1 + relative));
  lost_behind = model.product_floor * (minimum(over, UpperBound(1)) + 1) * (1 + relative);
  in_range = is_in_range(row.contract, static_cast<double>(sum));
  divide(row, quotient);
}

Enclosure LossUpstream::exact() const {
  return counted == nullptr ? Enclosure(number) : Enclosure(number) / counted->exact_sum();
}

LossGradientElements::LossGradientElements(const RowInputs& row, LossTerms terms, const LossUpstream& upstream,
                                           std::string_view claim)
    : claim_(claim),
      terms_(std::move(terms)),
      upstream_(upstream),
      threshold_(row.contract, terms_.options(), terms_.bounded(), upstream_.magnitude, Grants::all, upstream_.divided),
      plain_(row.contract, terms_.options(), terms_.bounded(), upstream_.magnitude, Grants::none),
      oracles_([this] { return terms_.oracle(); }) {
  promised = upstream_.in_range && is_in_range(row.contract, terms_.largest_of_gradient());
  // If the cap moves logits by this much, coefficients keep no accuracy.
  resolved = promised && 2 * softcap_error(row.contract, terms_.options()) < 1;
  if (!promised) resolution = infinity;
}

Quick LossGradientElements::quick(std::size_t j) {
  const Difference& of = difference(j);
  const long double size = std::fabs(upstream_.value) + upstream_.error, slope = of.slope.value;
  const long double error = of.error * (slope + of.slope.error) + std::fabs(of.value) * of.slope.error;
  return {upstream_.value * of.value * slope, size * (error + 3 * two_roundings * std::fabs(of.value) * slope) +
                                                  upstream_.error * std::fabs(of.value) * slope + 0x1p-1070L};
}

double LossGradientElements::threshold(std::size_t j) {
  return promised ? upper(threshold_.element(element(j)).total() + of_upstream(j) + upstream_.lost_behind) : infinity;
}

UpperBound LossGradientElements::of_upstream(std::size_t j) const {
  if (upstream_.counted == nullptr) return UpperBound(0);
  const Difference& of = difference(j);
  const UpperBound size = terms_.at_most((std::fabs(of.value) + of.error) * (of.slope.value + of.slope.error));
  return (upstream_.relative * upstream_.magnitude + upstream_.lost) * size;
}

// Without the cap's slope 1 - tanh^2, which is a difference itself.
double LossGradientElements::metric(std::size_t j, double) {
  const Difference& of = difference(j);
  return upper(UpperBound(std::fabs(static_cast<double>(upstream_.value))) * terms_.at_most(of.magnitude));
}

bool LossGradientElements::is_vacuous(std::size_t j, double metric) {
  return numerics::is_vacuous(upper(plain_.element(element(j)).rounding + of_upstream(j)), metric);
}

LossGradientElements::Difference LossGradientElements::computed_difference(std::size_t j) const {
  const long double z = terms_.options().z_loss, weight = terms_.total_weight();
  Difference of{};
  if (terms_.is_hidden(j)) {
    of.value = -terms_.subtrahend(j);
    of.magnitude = of.subtrahend = -of.value;
    of.error = 4 * two_roundings * of.subtrahend;
    return of;
  }
  of.coefficient = std::exp(-terms_.negative_log(j));
  const long double twice = 2 * z * terms_.logsumexp(), alpha = weight + twice;
  of.subtrahend = terms_.subtrahend(j);
  of.value = alpha * of.coefficient - of.subtrahend;
  of.magnitude = std::fabs(alpha) * of.coefficient + of.subtrahend;
  of.slope = terms_.slope(j);
  // The terms of alpha may cancel. The last summand covers coefficients that underflow.
  const long double terms = (weight + std::fabs(twice)) * of.coefficient;
  of.error = std::fabs(alpha) * of.coefficient * terms_.coefficient_error(j) +
             4 * two_roundings * (terms + of.subtrahend) + terms_.sum_error() * weight * of.coefficient +
             2 * z * terms_.logsumexp_error() * of.coefficient + 0x1p-1070L;
  return of;
}

CrossEntropyElement<UpperBound> LossGradientElements::element(std::size_t j) const {
  const Difference& of = difference(j);
  CrossEntropyElement<UpperBound> element;
  if (!terms_.is_hidden(j)) {
    element.coefficient = terms_.at_most(of.coefficient * (1 + terms_.coefficient_error(j)) + 0x1p-1070L);
    element.deviation = terms_.at_most(terms_.deviation(j) + terms_.deviation_error());
  }
  element.subtrahend = terms_.at_most(of.subtrahend);
  element.difference = terms_.at_most(std::fabs(of.value) + of.error);
  element.cap_slope = terms_.at_most(of.slope.value + of.slope.error);
  element.cap_square = terms_.at_most(of.slope.square + of.slope.error);
  return element;
}

}  // namespace softcheck::proptests
