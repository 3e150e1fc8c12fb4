#include "numerics/rounding/rounding.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <vector>

#include "numerics/formats/fp_environment.hpp"
#include "numerics/rounding/rounding_model.hpp"

namespace softcheck::numerics {
namespace {

template <class Iterator>
std::uint64_t records(Iterator first, Iterator last) {
  std::uint64_t count = 0;
  double maximum = -std::numeric_limits<double>::infinity();
  bool found = false;
  for (; first != last; ++first) {
    if (!(*first > maximum)) continue;
    count += found ? 1 : 0;
    found = true;
    maximum = *first;
  }
  return count;
}

// Number of distinct visible logits, at most `most`, counted with a hash table that is at most half full.
std::uint64_t distinct_visible(std::span<const double> logits, std::uint64_t most) {
  const std::uint64_t size = std::bit_ceil(2 * std::min<std::uint64_t>(most, logits.size()) + 2);
  std::vector<double> met(size, -std::numeric_limits<double>::infinity());
  std::uint64_t count = 0;
  for (std::size_t i = 0; i < logits.size() && count < most; ++i) {
    const double x = logits[i] + 0.0;  // -0 and 0 are one logit
    if (!(x > -std::numeric_limits<double>::infinity())) continue;
    const std::uint64_t bits = std::bit_cast<std::uint64_t>(x) * 0x9e37'79b9'7f4a'7c15u;  // 2^64 / the golden ratio
    std::uint64_t place = (bits >> 32) & (size - 1);
    while (met[place] != x && std::isfinite(met[place])) place = (place + 1) & (size - 1);
    if (met[place] == x) continue;
    met[place] = x;
    ++count;
  }
  return count;
}

}  // namespace

template <class T>
RowStatistics<T> row_statistics(const RowOracle& oracle, std::uint64_t rescalings, double theta) {
  if (oracle.fully_masked()) {
    throw std::invalid_argument("row_statistics: need a visible item, got a fully masked row");
  }
  RowStatistics<T> row;
  row.size = oracle.size();
  row.visible = oracle.visible();
  row.rescalings = rescalings;
  row.theta = theta;
  const Enclosure log_sum = log1p(oracle.sum_minus_one());
  const Enclosure maximum_over_theta = oracle.logsumexp() - log_sum;
  const auto smallest = std::find(oracle.logits().begin(), oracle.logits().end(), oracle.minimum());
  const auto position = static_cast<std::size_t>(smallest - oracle.logits().begin());
  const Enclosure minimum_over_theta = maximum_over_theta - oracle.deviation(position);
  row.log_sum = bound_of<T>(log_sum);
  row.mean_deviation = bound_of<T>(oracle.mean_deviation());
  row.mean_square_deviation = bound_of<T>(oracle.mean_square_deviation());
  row.maximum_magnitude = bound_of<T>(abs(maximum_over_theta));
  row.largest_magnitude = bound_of<T>(softcheck::numerics::maximum(abs(maximum_over_theta), abs(minimum_over_theta)));
  row.logsumexp_magnitude = bound_of<T>(abs(oracle.logsumexp()));
  return row;
}

std::uint64_t rescaling_count(const Contract& contract, std::span<const double> logits) {
  if (contract.summation.kind == Summation::Kind::sequential) {
    return std::max(records(logits.begin(), logits.end()), records(logits.rbegin(), logits.rend()));
  }
  const std::uint64_t height = summation_height(contract, logits.size());
  const std::uint64_t distinct = distinct_visible(logits, height + 1);
  return distinct == 0 ? 0 : distinct - 1;
}

template <class T>
T sum_error(const Contract& contract, const RowStatistics<T>& row, Grants grants) {
  const FpEnvironmentGuard guard;
  return expm1(RoundingModel<T>(contract, row, grants).sum_log);
}

template <class T>
ElementThreshold<T> softmax_error(const Contract& contract, const RowStatistics<T>& row, Grants grants) {
  const FpEnvironmentGuard guard;
  const RoundingModel<T> model(contract, row, grants);
  const formulas::ElementBounds<T> bounds = model.element_bounds();
  return model.element(bounds.element_log, model.slope, bounds.element_floor);
}

template <class T>
T total_variation_error(const Contract& contract, const RowStatistics<T>& row, Grants grants) {
  const FpEnvironmentGuard guard;
  const ElementThreshold<T> element = softmax_error(contract, row, grants);
  formulas::variation::Quantities<T> q;
  q.constant = element.constant;
  q.slope = element.slope;
  q.floor = element.floor;
  q.visible = T(static_cast<double>(row.visible));
  q.mean_deviation = row.mean_deviation;
  return formulas::variation::TotalVariationBounds<T>(q).total_variation;
}

template <class T>
ScalarThreshold<T> row_sum_error(const Contract& contract, const RowStatistics<T>& row, Exponentials exponentials,
                                 Grants grants) {
  const FpEnvironmentGuard guard;
  const formulas::ElementBounds<T> bounds = RoundingModel<T>(contract, row, grants).element_bounds();
  // With shared exponentials their errors cancel; their sum is >= e^-sum_log, and only additions may underflow.
  const bool shared = exponentials == Exponentials::shared;
  return {shared ? bounds.shared_rounding : bounds.row_sum_rounding, bounds.row_sum_lost};
}

template <class T>
T coefficient_excess(const Contract& contract, const RowStatistics<T>& row, const T& deviation) {
  const FpEnvironmentGuard guard;
  const RoundingModel<T> model(contract, row, Grants::all);
  // S_hat is at least the item's own exponential as it was added, whatever the sum's length; a compensated sum may be
  // two roundings lower.
  const T added = model.item_unit + model.argument_floor + model.rescale_unit + 2 * model.unit + model.total_unit;
  const formulas::ElementBounds<T> bounds = model.element_bounds();
  return expm1(bounds.numerator_log + added + 2 * model.slope * deviation + bounds.ratio_log);
}

template <class T>
T entropy_undershoot(const Contract& contract, const RowStatistics<T>& row) {
  const FpEnvironmentGuard guard;
  const RoundingModel<T> model(contract, row, Grants::all);
  // T >= 0, and S_hat is at least the maximum's own exponential, whose argument is exactly 0.
  const T logarithm = model.item_unit + model.rescale_unit + 2 * model.unit + model.total_unit;
  return logarithm * (1 + model.log_roundoff) * (1 + model.roundoff) * (1 + model.output_roundoff);
}

double overflow_limit(const Contract& contract) {
  double largest = properties(contract.accumulator).largest;
  if (contract.differences) largest = std::min(largest, properties(*contract.differences).largest);
  if (properties(contract.output).storage_bits == 8) return largest / 2;
  return std::min(largest, properties(contract.output).largest) / 2;
}

double infinity_from(Format format) {
  const FormatProperties& p = properties(format);
  // f64's own is no double.
  return std::min(p.largest + std::ldexp(1.0, p.max_exponent - p.precision), std::numeric_limits<double>::max());
}

double error_before_output(const Contract& contract, double allowed, double magnitude) {
  if (properties(contract.output).precision >= properties(contract.accumulator).precision) return allowed;
  const double unit = properties(contract.output).unit_roundoff;
  // The result has two roundings of double, and the cancellation is relative to the threshold.
  return std::max(0.0, (allowed - unit * magnitude) / (1 + unit)) + 0x1p-50 * allowed;
}

bool is_vacuous(double rounding, double value_magnitude) { return !(rounding < value_magnitude); }

template UpperBound coefficient_excess<UpperBound>(const Contract&, const RowStatistics<UpperBound>&,
                                                   const UpperBound&);
template UpperBound entropy_undershoot<UpperBound>(const Contract&, const RowStatistics<UpperBound>&);
template RowStatistics<UpperBound> row_statistics<UpperBound>(const RowOracle&, std::uint64_t, double);
template UpperBound sum_error<UpperBound>(const Contract&, const RowStatistics<UpperBound>&, Grants);
template ElementThreshold<UpperBound> softmax_error<UpperBound>(const Contract&, const RowStatistics<UpperBound>&,
                                                                Grants);
template UpperBound total_variation_error<UpperBound>(const Contract&, const RowStatistics<UpperBound>&, Grants);
template ScalarThreshold<UpperBound> row_sum_error<UpperBound>(const Contract&, const RowStatistics<UpperBound>&,
                                                               Exponentials, Grants);
template Enclosure coefficient_excess<Enclosure>(const Contract&, const RowStatistics<Enclosure>&, const Enclosure&);
template Enclosure entropy_undershoot<Enclosure>(const Contract&, const RowStatistics<Enclosure>&);
template RowStatistics<Enclosure> row_statistics<Enclosure>(const RowOracle&, std::uint64_t, double);
template Enclosure sum_error<Enclosure>(const Contract&, const RowStatistics<Enclosure>&, Grants);
template ElementThreshold<Enclosure> softmax_error<Enclosure>(const Contract&, const RowStatistics<Enclosure>&, Grants);
template Enclosure total_variation_error<Enclosure>(const Contract&, const RowStatistics<Enclosure>&, Grants);
template ScalarThreshold<Enclosure> row_sum_error<Enclosure>(const Contract&, const RowStatistics<Enclosure>&,
                                                             Exponentials, Grants);

}  // namespace softcheck::numerics
