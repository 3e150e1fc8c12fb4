// B8, B10 and B11: merging by log-sum-exp values, adaptive temperature, the paper's 1e-9. Proofs: docs/tolerances.md.

#include <array>
#include <stdexcept>

#include "numerics/formats/fp_environment.hpp"
#include "numerics/rounding/rounding_model.hpp"

namespace softcheck::numerics {
namespace {

// |a_i| of the paper's polynomial (Fig. 4), highest power first, each rounded up.
constexpr std::array<double, 5> coefficient_magnitudes{0x1.2f1a9fbe76c8cp-5, 0x1.ec8b439581063p-2, 0x1.2666666666667p+1,
                                                       0x1.3ab020c49ba5fp+2, 0x1.ca7ef9db22d0fp+0};
// A Lipschitz constant of max(P, 1): |P'| has its maximum 2.52535... at the upper end of the active interval.
constexpr double lipschitz = 2.526;

// The error of the entropy that a kernel passes to the polynomial, by either formula and either definition.
template <class T>
T entropy_input_error(const Contract& contract, const RowStatistics<T>& row, Grants grants) {
  Contract inner = contract;
  inner.output = contract.accumulator;  // the entropy never leaves the accumulator
  const ScalarThreshold<T> centred = entropy_error(inner, row, grants);
  const ScalarThreshold<T> direct = entropy_of_coefficients_error(inner, row, grants);
  const T error = maximum(centred.total(), direct.total());
  if (contract.entropy != EntropyForm::any) return error;
  return error + epsilon_entropy_gap<T>(row.visible);
}

template <class T>
T polynomial_error(const RoundingModel<T>& model, const T& entropy, const T& entropy_error) {
  formulas::temperature::Quantities<T> q;
  q.roundoff = model.roundoff;
  q.sum_floor = model.sum_floor;
  q.product_floor = model.product_floor;
  q.entropy = entropy + entropy_error;
  q.entropy_error = entropy_error;
  q.lipschitz = T(lipschitz);
  q.coefficient_4 = T(coefficient_magnitudes[0]);
  q.coefficient_3 = T(coefficient_magnitudes[1]);
  q.coefficient_2 = T(coefficient_magnitudes[2]);
  q.coefficient_1 = T(coefficient_magnitudes[3]);
  q.coefficient_0 = T(coefficient_magnitudes[4]);
  return formulas::temperature::BetaBounds<T>(q).beta_error;
}

}  // namespace

template <class T>
TemperatureError<T> temperature_error(const Contract& contract, const RowStatistics<T>& plain,
                                      const RowStatistics<T>& scaled, const T& more_entropy, Grants grants) {
  const FpEnvironmentGuard guard;
  const T entropy_bound = entropy_input_error(contract, plain, grants) + more_entropy;
  const T entropy = plain.log_sum + plain.mean_deviation;
  const RoundingModel<T> plain_model(contract, plain, grants);
  TemperatureError<T> result;
  const T& tau = result.tau = polynomial_error(plain_model, entropy, entropy_bound);

  // |ln(p_j(beta_hat) / p_j)| <= tau (D_j + Dbar'), Dbar' the mean at (1 - tau) beta.
  formulas::temperature::Quantities<T> q;
  q.visible = plain_model.visible;
  q.tau = tau;
  q.mean_deviation = scaled.mean_deviation;
  const formulas::temperature::MeanBounds<T> means(q);
  const T& mean = result.mean = means.wider_mean;
  const T logarithm = log(plain_model.visible + exp(T(1)));
  RowStatistics<T>& moved = result.moved = scaled;
  moved.mean_deviation = means.moved_mean;
  moved.mean_square_deviation = logarithm * logarithm;
  moved.log_sum = scaled.log_sum + tau * mean;
  // (x - m) beta_hat, (x - m) / theta with theta = 1 / beta_hat, or (x - m) (1 / theta): three more roundings, two of
  // which a representable theta has. beta <= 2.42139 < 4 bounds the effect of 1 / theta on underflow and magnitudes.
  moved.theta = 0.25;
  moved.maximum_magnitude = scaled.maximum_magnitude + tau * plain.maximum_magnitude;
  moved.largest_magnitude = 4 * plain.largest_magnitude;
  moved.logsumexp_magnitude = scaled.logsumexp_magnitude + tau * (plain.maximum_magnitude + mean);
  result.granted = contract;
  result.granted.exp_argument_error += 1;
  return result;
}

template <class T>
ElementThreshold<T> adaptive_temperature_error(const Contract& contract, const RowStatistics<T>& plain,
                                               const RowStatistics<T>& scaled, Grants grants) {
  const FpEnvironmentGuard guard;
  const TemperatureError<T> temperature = temperature_error(contract, plain, scaled, T(0), grants);
  const RoundingModel<T> model(temperature.granted, temperature.moved, grants);
  const formulas::ElementBounds<T> moved = model.element_bounds();
  formulas::temperature::Quantities<T> q;
  q.tau = temperature.tau;
  q.wider = temperature.mean;
  q.element_log = moved.element_log;
  q.argument_slope = model.slope;
  const formulas::temperature::CoefficientBounds<T> bounds(q);
  return model.element(bounds.coefficient_log, bounds.rate, moved.element_floor);
}

template <class T>
ElementThreshold<T> merge_by_lse_error(const Contract& contract, std::uint64_t parts, const T& part_error,
                                       const T& largest_magnitude) {
  if (parts == 0) throw std::invalid_argument("merge_by_lse_error: need at least one part, got 0");
  const FpEnvironmentGuard guard;
  // The parts' values form a row: Dbar <= ln n, V2 <= ln^2(n + e), S <= n.
  RowStatistics<T> row;
  row.size = parts;
  row.visible = parts;
  const T count(static_cast<double>(parts));
  row.log_sum = log(count);
  row.mean_deviation = row.log_sum;
  const T logarithm = log(count + exp(T(1)));
  row.mean_square_deviation = logarithm * logarithm;
  row.maximum_magnitude = largest_magnitude + part_error;
  row.largest_magnitude = largest_magnitude + part_error;
  row.logsumexp_magnitude = largest_magnitude + part_error;
  Contract merging = contract;
  merging.input = contract.accumulator;
  merging.output = contract.accumulator;
  const RoundingModel<T> model(merging, row, Grants::none);
  const ScalarThreshold<T> merged = logsumexp_error(merging, row, Grants::none);
  // ln(weight) = L_k - L: both ends err by part_error, and the merged one by its own computation; the difference rounds
  // at its magnitude L - L_k; then an exponential and a product.
  const T constant = 2 * part_error + merged.total() + model.roundoff * (2 * part_error + merged.total()) +
                     model.sum_floor + model.exp_unit + model.unit;
  return model.element(constant, model.slope, (model.exp_floor + model.product_floor) * exp(constant));
}

template <class T>
T epsilon_entropy_gap(std::uint64_t visible) {
  // 1e-9 n, rounded up.
  return log1p(T(0x1.12e0be826d695p-30) * T(static_cast<double>(visible)));
}

template TemperatureError<UpperBound> temperature_error<UpperBound>(const Contract&, const RowStatistics<UpperBound>&,
                                                                    const RowStatistics<UpperBound>&, const UpperBound&,
                                                                    Grants);
template TemperatureError<Enclosure> temperature_error<Enclosure>(const Contract&, const RowStatistics<Enclosure>&,
                                                                  const RowStatistics<Enclosure>&, const Enclosure&,
                                                                  Grants);
template ElementThreshold<UpperBound> adaptive_temperature_error<UpperBound>(const Contract&,
                                                                             const RowStatistics<UpperBound>&,
                                                                             const RowStatistics<UpperBound>&, Grants);
template ElementThreshold<UpperBound> merge_by_lse_error<UpperBound>(const Contract&, std::uint64_t, const UpperBound&,
                                                                     const UpperBound&);
template UpperBound epsilon_entropy_gap<UpperBound>(std::uint64_t);
template ElementThreshold<Enclosure> adaptive_temperature_error<Enclosure>(const Contract&,
                                                                           const RowStatistics<Enclosure>&,
                                                                           const RowStatistics<Enclosure>&, Grants);
template ElementThreshold<Enclosure> merge_by_lse_error<Enclosure>(const Contract&, std::uint64_t, const Enclosure&,
                                                                   const Enclosure&);
template Enclosure epsilon_entropy_gap<Enclosure>(std::uint64_t);

}  // namespace softcheck::numerics
