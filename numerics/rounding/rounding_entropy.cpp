// B5, B6 and B7: log-sum-exp, log-softmax and entropy, by the theorems' formulas (theorem_bounds.hpp). Proofs:
// docs/tolerances.md.

#include "numerics/formats/fp_environment.hpp"
#include "numerics/rounding/rounding_model.hpp"

namespace softcheck::numerics {
namespace {

// The paper's 1e-9, rounded up.
constexpr double paper_epsilon = 0x1.12e0be826d695p-30;

// B6d, for coefficients as in B2 without the output's rounding.
template <class T>
formulas::coefficients::DirectBounds<T> direct_bounds(const RoundingModel<T>& model, const RowStatistics<T>& row,
                                                      const T& entropy) {
  const formulas::ElementBounds<T> element = model.element_bounds();
  formulas::coefficients::Quantities<T> q;
  q.unit = model.unit;
  q.numerator_log = element.numerator_log;
  q.sum_log = model.sum_log;
  q.divisions = model.quantities.divisions;
  q.height_log = model.height;
  q.slope = model.slope;
  q.shift = model.shift;
  q.first_excess = model.first_excess;
  q.mean_deviation = row.mean_deviation;
  q.log_sum = row.log_sum;
  q.log_error = model.log_roundoff;
  q.entropy = entropy;
  q.epsilon = T(paper_epsilon);
  q.numerator_loss = element.numerator_loss;
  q.lost_quotients = model.quantities.lost_quotients;
  q.product_floor = model.product_floor;
  q.sum_floor = model.sum_floor;
  q.visible = model.visible;
  q.smallest_log = model.exp_cutoff * T(0.5);  // the cut-off is twice the logarithm of the smallest number
  return formulas::coefficients::DirectBounds<T>(q);
}

// A tree of logaddexp: each is a log-sum-exp of two items, and none amplifies the errors before it.
template <class T>
ScalarThreshold<T> running_logsumexp_error(const Contract& contract, const RowStatistics<T>& row) {
  const RoundingModel<T> model(contract, row, Grants::none);
  const T read = model.scaling * row.largest_magnitude + model.quantities.conversion + 2 * model.product_floor;
  const T largest = maximum(row.largest_magnitude, row.logsumexp_magnitude);
  Contract addition = contract;
  addition.lse = LseForm::centred;
  addition.input = addition.output = contract.accumulator;
  // Of two items at a distance d: ln S <= ln 2, Dbar = d / (1 + e^d) and V2 = d^2 / (1 + e^d).
  const ScalarThreshold<T> step = logsumexp_error(addition,
                                                  RowStatistics<T>{.size = 2,
                                                                   .visible = 2,
                                                                   .log_sum = T(0.6931472),
                                                                   .mean_deviation = T(0.2785),
                                                                   .mean_square_deviation = T(0.4835),
                                                                   .maximum_magnitude = largest,
                                                                   .largest_magnitude = largest,
                                                                   .logsumexp_magnitude = largest},
                                                  Grants::none);
  const T error = exp(model.height) * (read + model.quantities.height * step.total());
  return model.output(error, row.logsumexp_magnitude, T(0));
}

}  // namespace

template <class T>
ScalarThreshold<T> logsumexp_error(const Contract& contract, const RowStatistics<T>& row, Grants grants) {
  const FpEnvironmentGuard guard;
  if (contract.lse == LseForm::running) return running_logsumexp_error(contract, row);
  // A scaled maximum has the argument's roundings except the subtraction.
  const formulas::LogarithmBounds<T> bounds = RoundingModel<T>(contract, row, grants).logarithm_bounds();
  if (contract.lse != LseForm::base2) return {bounds.logsumexp_output, bounds.logsumexp_lost};
  // The rounded log2(e), the product with it, and the judge's product with ln 2.
  return {bounds.logsumexp_output + expm1(3 * minus_log1m(T(properties(contract.accumulator).unit_roundoff))) *
                                        (row.logsumexp_magnitude + bounds.logsumexp_output),
          2 * bounds.logsumexp_lost};
}

template <class T>
LinearThreshold<T> log_softmax_error(const Contract& contract, const RowStatistics<T>& row, Grants grants) {
  const FpEnvironmentGuard guard;
  const RoundingModel<T> model(contract, row, grants);
  const formulas::LogarithmBounds<T> bounds = model.logarithm_bounds();
  if (contract.has_centred_lse()) return {bounds.centred_constant, bounds.centred_slope, bounds.centred_lost};
  // If the log-sum-exp L overflows, x - L is infinite or NaN: nothing is promised.
  const bool lost = !(upper(row.maximum_magnitude + bounds.logsumexp_rounding) < model.largest);
  return {lost ? unbounded<T>() : bounds.uncentred_constant, bounds.uncentred_slope, bounds.uncentred_lost};
}

template <class T>
ScalarThreshold<T> entropy_error(const Contract& contract, const RowStatistics<T>& row, Grants grants) {
  const FpEnvironmentGuard guard;
  const RoundingModel<T> model(contract, row, grants);
  const formulas::MomentBounds<T> bounds = model.moment_bounds();
  // Theorem b6_entropy requires that the underflow losses of the arguments on one path sum to at most 2.
  const bool proved = upper(model.rescalings * model.quantities.argument_step) <= 2;
  return {proved ? bounds.entropy_output : unbounded<T>(), bounds.entropy_lost};
}

template <class T>
ScalarThreshold<T> entropy_uncentred_error(const Contract& contract, const RowStatistics<T>& row, Grants grants) {
  const FpEnvironmentGuard guard;
  const RoundingModel<T> model(contract, row, grants);
  const formulas::UncentredMomentBounds<T> bounds = model.uncentred_moment_bounds();
  // If the maximum over theta overflows, so does the entropy: nothing is promised.
  const bool lost = !(upper(row.maximum_magnitude + bounds.entropy_uncentred_first) < model.largest);
  return {lost ? unbounded<T>() : bounds.entropy_uncentred_output, bounds.entropy_uncentred_lost};
}

template <class T>
ScalarThreshold<T> entropy_of_coefficients_error(const Contract& contract, const RowStatistics<T>& row, Grants grants) {
  const FpEnvironmentGuard guard;
  const RoundingModel<T> model(contract, row, grants);
  const T entropy = row.log_sum + row.mean_deviation;
  const formulas::coefficients::DirectBounds<T> bounds = direct_bounds(model, row, entropy);
  T parts = bounds.coefficients_rounding;
  // If 1e-9 is below the accumulator's normal numbers, it may be lost.
  if (properties(contract.accumulator).smallest_normal > paper_epsilon) {
    parts = parts + epsilon_entropy_gap<T>(row.visible);
  }
  return model.output(parts, entropy, bounds.coefficients_lost);
}

namespace {

// B6d: -sum p ln p, with ln p from a log-softmax and p from it or computed directly.
template <class T>
ScalarThreshold<T> entropy_of_log_softmax_error(const Contract& contract, const RowStatistics<T>& row, Grants grants) {
  Contract inner = contract;
  inner.output = contract.accumulator;  // the logarithms never leave the accumulator
  const LinearThreshold<T> logarithm = log_softmax_error(inner, row, grants);
  const T absolute = logarithm.constant + logarithm.floor;
  // A logarithm's own slope and the argument's are 2 A' + 1 roundings of the argument (tilt_of_log_softmax), where A'
  // is A plus at most 4 for a temperature: 2 A + 7 and a temperature's roundings cover both.
  inner.exp_argument_error = 2 * contract.exp_argument_error + 7;
  if (contract.differences) {  // once more, as often as it has roundings of the accumulator
    const double stored = properties(*contract.differences).unit_roundoff;
    inner.exp_argument_error += 2 * stored / properties(contract.accumulator).unit_roundoff;
  }
  const RoundingModel<T> model(inner, row, grants);
  formulas::logarithms::Quantities<T> q;
  q.unit = model.unit;
  // A coefficient is that of B2 from the logits or from the logarithms, or an exponential of one of these. The second
  // has the largest error.
  const formulas::ElementBounds<T> element = model.element_bounds();
  q.numerator_log = element.numerator_log;
  q.numerator_loss = element.numerator_loss;
  q.sigma_0 = model.sums.sigma_0;
  q.sum_loss = model.sum_loss;
  q.total_unit = model.total_unit;
  q.divisions = model.quantities.divisions;
  q.lost_quotients = model.quantities.lost_quotients;
  q.slope = model.slope;
  // An item further below the maximum has no exponential; its logarithm may be nearer by 2 absolute.
  const T reach = model.exp_cutoff + model.quantities.argument_step + 2 * absolute;
  q.cutoff = (1 + model.slope) * reach + model.quantities.conversion;
  q.logarithm_constant = absolute;
  q.logarithm_slope = logarithm.slope;
  q.height_log = model.height;
  q.shift = model.shift;
  q.first_excess = model.first_excess;
  q.mean_deviation = row.mean_deviation;
  q.log_sum = row.log_sum;
  q.entropy = row.log_sum + row.mean_deviation;
  q.product_floor = model.product_floor;
  q.sum_floor = model.sum_floor;
  q.visible = model.visible;
  const formulas::logarithms::EntropyBounds<T> bounds(q);
  return RoundingModel<T>(contract, row, grants).output(bounds.logarithms_rounding, q.entropy, bounds.logarithms_lost);
}

}  // namespace

template <class T>
ScalarThreshold<T> contracted_entropy_error(const Contract& contract, const RowStatistics<T>& row, Grants grants) {
  const FpEnvironmentGuard guard;
  if (contract.has_centred_entropy()) return entropy_error(contract, row, grants);
  if (!contract.has_entropy_of_coefficients()) return entropy_uncentred_error(contract, row, grants);
  const ScalarThreshold<T> coefficients = entropy_of_coefficients_error(contract, row, grants);
  const ScalarThreshold<T> logarithms = entropy_of_log_softmax_error(contract, row, grants);
  return {maximum(coefficients.rounding, logarithms.rounding), maximum(coefficients.floor, logarithms.floor)};
}

template ScalarThreshold<UpperBound> contracted_entropy_error<UpperBound>(const Contract&,
                                                                          const RowStatistics<UpperBound>&, Grants);
template ScalarThreshold<Enclosure> contracted_entropy_error<Enclosure>(const Contract&,
                                                                        const RowStatistics<Enclosure>&, Grants);
template ScalarThreshold<UpperBound> logsumexp_error<UpperBound>(const Contract&, const RowStatistics<UpperBound>&,
                                                                 Grants);
template LinearThreshold<UpperBound> log_softmax_error<UpperBound>(const Contract&, const RowStatistics<UpperBound>&,
                                                                   Grants);
template ScalarThreshold<UpperBound> entropy_error<UpperBound>(const Contract&, const RowStatistics<UpperBound>&,
                                                               Grants);
template ScalarThreshold<UpperBound> entropy_uncentred_error<UpperBound>(const Contract&,
                                                                         const RowStatistics<UpperBound>&, Grants);
template ScalarThreshold<UpperBound> entropy_of_coefficients_error<UpperBound>(const Contract&,
                                                                               const RowStatistics<UpperBound>&,
                                                                               Grants);
template ScalarThreshold<Enclosure> logsumexp_error<Enclosure>(const Contract&, const RowStatistics<Enclosure>&,
                                                               Grants);
template LinearThreshold<Enclosure> log_softmax_error<Enclosure>(const Contract&, const RowStatistics<Enclosure>&,
                                                                 Grants);
template ScalarThreshold<Enclosure> entropy_error<Enclosure>(const Contract&, const RowStatistics<Enclosure>&, Grants);
template ScalarThreshold<Enclosure> entropy_uncentred_error<Enclosure>(const Contract&, const RowStatistics<Enclosure>&,
                                                                       Grants);
template ScalarThreshold<Enclosure> entropy_of_coefficients_error<Enclosure>(const Contract&,
                                                                             const RowStatistics<Enclosure>&, Grants);

}  // namespace softcheck::numerics
