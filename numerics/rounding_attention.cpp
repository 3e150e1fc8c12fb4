// B9: attention. Proof: docs/tolerances.md.

#include "numerics/rounding_attention.hpp"

#include <stdexcept>
#include <string>

#include "numerics/fp_environment.hpp"

namespace softcheck::numerics {
namespace {

template <class T>
struct ScoreErrors {
  T largest{};
  T mean{};  // sum p_j e_j
};

template <class T>
ScoreErrors<T> summarize(std::span<const T> coefficients, std::span<const T> score_errors) {
  ScoreErrors<T> result;
  for (std::size_t j = 0; j < coefficients.size(); ++j) {
    if (upper(coefficients[j]) == 0) continue;
    result.largest = maximum(result.largest, score_errors[j]);
    result.mean = result.mean + coefficients[j] * score_errors[j];
  }
  return result;
}

// The statistics of the scores as computed, from those of the exact ones: every D moves by at most 2 e_max.
template <class T>
RowStatistics<T> perturbed(const RowStatistics<T>& row, const T& largest_error) {
  const T shift = 2 * largest_error;
  RowStatistics<T> moved = row;
  moved.theta = 1;
  moved.log_sum = row.log_sum + shift;
  moved.mean_deviation = exp(shift) * (row.mean_deviation + shift);
  moved.mean_square_deviation =
      exp(shift) * (row.mean_square_deviation + 2 * shift * row.mean_deviation + shift * shift);
  moved.maximum_magnitude = row.maximum_magnitude + largest_error;
  moved.largest_magnitude = row.largest_magnitude + largest_error;
  moved.logsumexp_magnitude = row.logsumexp_magnitude + largest_error;
  return moved;
}

Contract over_scores(const Contract& contract) {
  Contract inner = contract;
  inner.input = contract.accumulator;  // scores stay in the accumulator
  return inner;
}

}  // namespace

template <class T>
T score_error(const Contract& contract, const AttentionArithmetic& arithmetic, const T& dot_magnitude) {
  const FpEnvironmentGuard guard;
  const FormatProperties& p = properties(contract.accumulator);
  const T unit = minus_log1m(T(p.unit_roundoff));
  const T lost = T(contract.subnormals == Subnormals::flushed ? 2 * p.smallest_normal : p.smallest_subnormal);
  const T scale(arithmetic.scale < 0 ? -arithmetic.scale : arithmetic.scale);
  const T dimension(static_cast<double>(arithmetic.dimension));
  // A product, d - 1 additions, the scaling and the scale's own representation.
  const T log_error = (dimension + 2) * unit;
  return scale * (expm1(log_error) * dot_magnitude + exp(log_error) * dimension * lost) + lost;
}

template <class T>
AttentionThreshold<T>::AttentionThreshold(const Contract& contract, const AttentionArithmetic& arithmetic,
                                          const RowStatistics<T>& row, std::span<const T> coefficients,
                                          std::span<const T> deviations, std::span<const T> score_errors, Grants grants)
    : model_(over_scores(contract), perturbed(row, summarize(coefficients, score_errors).largest), grants) {
  if (deviations.size() != coefficients.size() || score_errors.size() != coefficients.size()) {
    throw std::invalid_argument("AttentionThreshold: need spans of one length, got " +
                                std::to_string(coefficients.size()) + ", " + std::to_string(deviations.size()) + ", " +
                                std::to_string(score_errors.size()));
  }
  const FpEnvironmentGuard guard;
  const ScoreErrors<T> errors = summarize(coefficients, score_errors);
  const FormatProperties& narrow = properties(arithmetic.coefficients);
  const bool rounds = narrow.precision < properties(contract.accumulator).precision;
  // |ln sum p e^(+-e)| <= ebar e^e_max: what the scores' errors do to the denominator.
  common_ = model_.sum_log + errors.mean * exp(errors.largest) + (model_.reciprocal ? 2 * model_.unit : model_.unit);

  const T height(static_cast<double>(arithmetic.value_sum_height));
  T term = model_.exp_unit + model_.rescale_unit + model_.argument_floor + 2 * model_.slope * errors.largest +
           (height + 1) * model_.unit;
  if (rounds) term = term + minus_log1m(T(narrow.unit_roundoff));
  lost_ = model_.exp_floor + T(narrow.smallest_subnormal);
  if (contract.subnormals == Subnormals::flushed) lost_ = lost_ + T(narrow.smallest_normal);
  if (model_.rescaled) lost_ = lost_ + 2 * model_.exp_floor;
  const ElementThreshold<T> widest = model_.element(term + errors.largest, model_.slope, lost_);
  lost_ = widest.floor * exp(term + errors.largest);
  term_errors_.reserve(coefficients.size());
  for (std::size_t j = 0; j < coefficients.size(); ++j) {
    const bool visible = upper(coefficients[j]) != 0;
    term_errors_.push_back(visible ? (expm1(term + score_errors[j]) + widest.slope * deviations[j]) * coefficients[j]
                                   : T(0));
  }
}

template <class T>
ScalarThreshold<T> AttentionThreshold<T>::column(std::span<const T> values, const T& output) const {
  if (values.size() != term_errors_.size()) {
    throw std::invalid_argument("AttentionThreshold::column: need " + std::to_string(term_errors_.size()) +
                                " values, got " + std::to_string(values.size()));
  }
  const FpEnvironmentGuard guard;
  T terms(0);
  T lost(0);
  T each = model_.product_floor + model_.sum_floor;
  if (model_.rescaled) each = each + 2 * model_.product_floor;
  for (std::size_t j = 0; j < values.size(); ++j) {
    terms = terms + values[j] * term_errors_[j];
    lost = lost + values[j] * lost_ + each;
  }
  const T amplification = exp(common_);
  const T rounding = expm1(common_) * output + amplification * terms;
  return model_.output(rounding, output, amplification * lost + 2 * model_.product_floor);
}

template UpperBound score_error<UpperBound>(const Contract&, const AttentionArithmetic&, const UpperBound&);
template class AttentionThreshold<UpperBound>;
template Enclosure score_error<Enclosure>(const Contract&, const AttentionArithmetic&, const Enclosure&);
template class AttentionThreshold<Enclosure>;

}  // namespace softcheck::numerics
