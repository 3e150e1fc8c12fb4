#include "numerics/oracles/merged_states.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <string>

#include "numerics/formats/special_values.hpp"
#include "numerics/rows/row_oracle.hpp"

namespace softcheck::numerics {
namespace {

EnclosedRow natural_row(std::span<const double> lse, LseBase base) {
  std::vector<std::optional<Enclosure>> row;
  for (const double value : lse) {
    if (value == -infinity) {
      row.emplace_back();
    } else {
      if (!std::isfinite(value)) {
        throw std::invalid_argument("MergedStatesOracle: need lse finite or -inf, got " + std::to_string(value));
      }
      row.emplace_back(base == LseBase::e ? Enclosure(value) : Enclosure(value) * log(Enclosure(2)));
    }
  }
  return EnclosedRow(std::move(row));
}

// The contract for base 2: 2^x = e^(x ln 2), and log2 by a product with a rounded constant.
Contract in_natural_units(const Contract& contract, LseBase base) {
  Contract natural = contract;
  if (base == LseBase::two) {
    natural.exp_argument_error += 1;
    natural.log_error += 2;
  }
  return natural;
}

void require_part(const MergedStatesOracle& oracle) {
  if (oracle.all_empty()) throw std::logic_error("MergedStatesOracle: need a part that is not empty, got none");
}

}  // namespace

MergedStatesOracle::MergedStatesOracle(std::span<const double> lse, std::span<const double> outputs,
                                       std::size_t dimension, LseBase base)
    : lse_(lse.begin(), lse.end()),
      outputs_(outputs.begin(), outputs.end()),
      dimension_(dimension),
      base_(base),
      row_(natural_row(lse, base)) {
  if (lse.empty() || outputs.size() != lse.size() * dimension) {
    throw std::invalid_argument("MergedStatesOracle: need a part and as many outputs as parts times " +
                                std::to_string(dimension) + ", got " + std::to_string(lse.size()) + " parts and " +
                                std::to_string(outputs.size()) + " outputs");
  }
  for (std::size_t k = 0; k < parts(); ++k) {
    for (std::size_t c = 0; c < dimension_; ++c) {
      const double value = outputs_[k * dimension_ + c];
      if (row_.is_visible(k) && !std::isfinite(value)) {
        throw std::invalid_argument("MergedStatesOracle: need finite outputs of parts that are not empty, got " +
                                    std::to_string(value));
      }
    }
  }
}

Enclosure MergedStatesOracle::weight(std::size_t part) const {
  require_part(*this);
  return row_.softmax(part);
}

double MergedStatesOracle::magnitude(std::size_t part, std::size_t column) const {
  return row_.is_visible(part) ? std::fabs(outputs_.at(part * dimension_ + column)) : 0;
}

Enclosure MergedStatesOracle::output(std::size_t column) const {
  require_part(*this);
  Enclosure sum(0);
  for (std::size_t k = 0; k < parts(); ++k) {
    if (row_.is_visible(k)) sum = sum + row_.softmax(k) * Enclosure(outputs_.at(k * dimension_ + column));
  }
  return sum;
}

Enclosure MergedStatesOracle::logsumexp() const {
  return base_ == LseBase::e ? row_.logsumexp() : row_.logsumexp() / log(Enclosure(2));
}

template <class T>
MergedStatesRow<T> MergedStatesOracle::row(const Contract& contract) const {
  require_part(*this);
  const FpEnvironmentGuard guard;
  const Enclosure largest = row_.maximum();
  const Enclosure log_sum = maximum(row_.logsumexp() - largest, Enclosure(0));
  MergedStatesRow<T> result;
  RowStatistics<T>& s = result.statistics;
  Enclosure mean_square(0);
  for (std::size_t k = 0; k < parts(); ++k) {
    result.coefficients.push_back(bound_of<T>(row_.softmax(k)));
    result.deviations.emplace_back(0);
    result.magnitudes.emplace_back(0);
    if (!row_.is_visible(k)) continue;
    const Enclosure deviation = maximum(largest - row_.logit(k), Enclosure(0));
    mean_square = mean_square + row_.softmax(k) * square(deviation);
    result.deviations.back() = bound_of<T>(deviation);
    result.magnitudes.back() = bound_of<T>(abs(row_.logit(k)));
    s.largest_magnitude = maximum(s.largest_magnitude, result.magnitudes.back());
  }
  s.size = parts();
  s.visible = row_.visible();
  s.rescalings = rescaling_count(contract, lse_);
  s.log_sum = bound_of<T>(log_sum);
  s.mean_deviation = bound_of<T>(row_.entropy() - log_sum);
  s.mean_square_deviation = bound_of<T>(mean_square);
  s.maximum_magnitude = bound_of<T>(abs(largest));
  s.logsumexp_magnitude = bound_of<T>(abs(row_.logsumexp()));
  return result;
}

template <class T>
AttentionThreshold<T> MergedStatesThreshold<T>::threshold_of(const Contract& contract, Format lse, LseBase base,
                                                             const MergedStatesRow<T>& row, Grants grants) {
  const FpEnvironmentGuard guard;
  Contract reading = contract;
  reading.input = lse;
  const OperationModel<T> model(reading);
  std::vector<T> errors;
  for (const T& magnitude : row.magnitudes) {
    errors.push_back(expm1(model.reading_unit) * magnitude + model.reading_floor);
  }
  const RowStatistics<T>& s = row.statistics;
  AttentionArithmetic arithmetic;
  arithmetic.coefficients = contract.accumulator;
  arithmetic.value_sum_height = std::min<std::uint64_t>(summation_height(contract, s.size), s.visible - 1);
  return AttentionThreshold<T>(in_natural_units(contract, base), arithmetic, {s, row.coefficients, row.deviations},
                               errors, grants);
}

template <class T>
MergedStatesThreshold<T>::MergedStatesThreshold(const Contract& contract, Format lse, LseBase base,
                                                const MergedStatesRow<T>& row, Grants grants)
    : base_(base), attention_(threshold_of(contract, lse, base, row, grants)) {}

template <class T>
ScalarThreshold<T> MergedStatesThreshold<T>::column(std::span<const T> outputs, const T& merged) const {
  const FpEnvironmentGuard guard;
  return attention_.column(outputs, merged);
}

template <class T>
ScalarThreshold<T> MergedStatesThreshold<T>::logsumexp(Format output) const {
  const FpEnvironmentGuard guard;
  ScalarThreshold<T> natural = attention_.logsumexp(output);
  if (base_ == LseBase::e) return natural;
  // 1 / ln 2 = 1.442695040888963407..., below this double. The output's quanta are in the base.
  const T over_log_two(0x1.71547652b82ffp+0);
  return {natural.rounding * over_log_two, natural.floor * over_log_two};
}

template MergedStatesRow<UpperBound> MergedStatesOracle::row<UpperBound>(const Contract&) const;
template MergedStatesRow<Enclosure> MergedStatesOracle::row<Enclosure>(const Contract&) const;
template class MergedStatesThreshold<UpperBound>;
template class MergedStatesThreshold<Enclosure>;

}  // namespace softcheck::numerics
