// B12 and B13: the gradients of softmax and log-softmax. Proofs: docs/tolerances/softmax_gradient.md.

#include "numerics/rounding/rounding_gradient.hpp"

#include <algorithm>
#include <stdexcept>
#include <string>

#include "numerics/formats/fp_environment.hpp"

namespace softcheck::numerics {
namespace {

void require_gradient_row(const char* what, std::uint64_t size, std::uint64_t terms) {
  if (size == 0) throw std::invalid_argument(std::string(what) + ": need a row of at least one item, got none");
  if (terms > size) {
    throw std::invalid_argument(std::string(what) + ": need at most " + std::to_string(size) + " terms, got " +
                                std::to_string(terms));
  }
}

// Adding an exact zero is exact.
template <class T>
T signed_sum_height(const Contract& contract, std::uint64_t size, std::uint64_t terms, const T& unit) {
  const std::uint64_t steps = std::min(summation_height(contract, size), terms == 0 ? 0 : terms - 1);
  return T(static_cast<double>(steps)) * unit;
}

}  // namespace

template <class T>
SoftmaxGradientThreshold<T>::SoftmaxGradientThreshold(const Contract& contract, const SoftmaxGradientRow<T>& row)
    : model_(contract), row_(row) {
  require_gradient_row("SoftmaxGradientThreshold", row.size, row.terms);
  const FpEnvironmentGuard guard;
  if (contract.gradient == GradientForm::jacobian) {
    set_jacobian(contract);
    return;
  }
  const StorageError<T> stored = storage_error<T>(contract, contract.products);
  term_unit_ = 2 * model_.reading_unit + model_.unit + stored.unit;
  const T read = model_.reading_floor * (row.largest_coefficient + row.largest_upstream + model_.reading_floor);
  term_floor_ = exp(term_unit_) * (read + model_.product_floor) + stored.floor;
  const T height = signed_sum_height(contract, row.size, row.terms, model_.unit);
  mean_rounding_ = expm1(term_unit_ + height) * row.product_magnitude;
  mean_floor_ = exp(height) * T(static_cast<double>(row.terms)) * (term_floor_ + model_.sum_floor);
  const T difference = 2 * model_.unit + model_.reading_unit, growth = exp(difference);
  upstream_rounding_ = expm1(term_unit_ + model_.unit);
  difference_rounding_ = expm1(difference) * row.mean_magnitude;
  rounded_mean_ = growth * mean_rounding_;
  rounded_mean_floor_ = growth * mean_floor_;
  lost_growth_ = exp(difference + model_.reading_unit);
  term_loss_ = exp(model_.unit) * term_floor_;
}

// Each term is y_i y_j g_j, or y_i g_i - y_i y_i g_i: at most four readings, a product, a difference, the product with
// g, and two stores. The mean's members hold what the terms together lose.
template <class T>
void SoftmaxGradientThreshold<T>::set_jacobian(const Contract& contract) {
  jacobian_ = true;
  const StorageError<T> stored = storage_error<T>(contract, contract.products);
  const T height = signed_sum_height(contract, row_.size, row_.terms, model_.unit), &lost = model_.reading_floor;
  term_unit_ = 4 * model_.reading_unit + 3 * model_.unit + 2 * stored.unit;
  const T y = row_.largest_coefficient + lost, g = row_.largest_upstream + lost;
  const T read = lost * (2 * y * g + y * y + y + g);
  const T losses = (model_.product_floor + model_.sum_floor + 2 * stored.floor) * (g + 1) + model_.product_floor;
  mean_rounding_ = expm1(term_unit_ + height);
  mean_floor_ = exp(term_unit_ + height) * T(static_cast<double>(row_.terms)) * (read + losses + model_.sum_floor);
}

template <class T>
ScalarThreshold<T> SoftmaxGradientThreshold<T>::element(const T& coefficient, const T& upstream,
                                                        const T& gradient) const {
  const FpEnvironmentGuard guard;
  if (jacobian_) return model_.output(mean_rounding_ * metric(coefficient, upstream), gradient, mean_floor_);
  const T rounding = coefficient * (upstream_rounding_ * upstream + difference_rounding_ + rounded_mean_);
  const T read_against = upstream + row_.mean_magnitude + mean_rounding_ + mean_floor_;
  const T& lost_reading = model_.reading_floor;
  const T lost = (coefficient + lost_reading) * (lost_reading + model_.sum_floor) + lost_reading * read_against +
                 model_.product_floor;
  const T floor = coefficient * rounded_mean_floor_ + lost_growth_ * lost + term_loss_ + model_.sum_floor;
  return model_.output(rounding, gradient, floor);
}

template <class T>
T SoftmaxGradientThreshold<T>::metric(const T& coefficient, const T& upstream) const {
  const FpEnvironmentGuard guard;
  return coefficient * (upstream + row_.product_magnitude);
}

template <class T>
LogSoftmaxGradientThreshold<T>::LogSoftmaxGradientThreshold(const Contract& contract,
                                                            const LogSoftmaxGradientRow<T>& row)
    : model_(contract), row_(row) {
  require_gradient_row("LogSoftmaxGradientThreshold", row.size, row.terms);
  const FpEnvironmentGuard guard;
  const double roundings = std::max(contract.exp_argument_error - 1, 0.0);
  argument_slope_ = expm1(T(roundings) * model_.unit + model_.reading_unit);
  const T height = signed_sum_height(contract, row.size, row.terms, model_.unit);
  total_rounding_ = expm1(model_.reading_unit + height) * row.upstream_magnitude;
  total_floor_ = exp(height) * T(static_cast<double>(row.terms)) * (model_.reading_floor + model_.sum_floor);
  upstream_rounding_ = expm1(model_.reading_unit);
  const T of_sum = row.total_magnitude + total_rounding_;
  floor_ = model_.reading_floor + model_.product_floor + model_.exp_floor * exp(model_.unit) * (of_sum + total_floor_);
}

template <class T>
typename LogSoftmaxGradientThreshold<T>::PowerTerms LogSoftmaxGradientThreshold<T>::terms(const T& power,
                                                                                          const T& argument) const {
  const FpEnvironmentGuard guard;
  if (!(upper(power) > 0)) return {T(0), T(0)};
  const T auxiliary = model_.reading_floor + model_.exp_unit + model_.unit;
  // e^(y + log) at y <= -1600: below e^(-1200 + 100), whatever e^log alone would be.
  const bool vanishes =
      upper(power) < 0x1p-1022 && upper(argument) >= 1600 && upper(argument_slope_) <= 0.25 && upper(auxiliary) <= 100;
  if (vanishes) return {T(0), T(0x1p-1000) * (row_.total_magnitude + total_rounding_ + total_floor_)};
  const T log = argument_slope_ * argument + auxiliary, growth = exp(log);
  return {power * (expm1(log) * row_.total_magnitude + growth * total_rounding_), power * (growth * total_floor_)};
}

template <class T>
ScalarThreshold<T> LogSoftmaxGradientThreshold<T>::element(const PowerTerms& terms, const T& upstream,
                                                           const T& gradient) const {
  const FpEnvironmentGuard guard;
  T rounding = upstream_rounding_ * upstream + terms.rounding;
  T floor = floor_ + terms.floor;
  // The difference rounds a result of the gradient's magnitude.
  rounding = rounding + model_.roundoff * (gradient + rounding);
  floor = floor * (1 + model_.roundoff) + model_.sum_floor;
  return model_.output(rounding, gradient, floor);
}

template <class T>
T LogSoftmaxGradientThreshold<T>::metric(const T& power, const T& upstream) const {
  const FpEnvironmentGuard guard;
  return upstream + power * row_.upstream_magnitude;
}

template class SoftmaxGradientThreshold<UpperBound>;
template class SoftmaxGradientThreshold<Enclosure>;
template class LogSoftmaxGradientThreshold<UpperBound>;
template class LogSoftmaxGradientThreshold<Enclosure>;

}  // namespace softcheck::numerics
