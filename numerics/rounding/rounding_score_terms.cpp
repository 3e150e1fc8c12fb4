// The error of a score after softcap, ALiBi and bias. Derivation: docs/tolerances/attention_attributes.md.

#include "numerics/rounding/rounding_score_terms.hpp"

#include <algorithm>
#include <cmath>
#include <optional>

#include "numerics/formats/fp_environment.hpp"
#include "numerics/rounding/rounding_attention.hpp"
#include "numerics/rounding/rounding_operations.hpp"

namespace softcheck::numerics {
namespace {

bool is_representable(const Contract& contract, double value) { return round_to(contract.accumulator, value) == value; }

// The underflow loss of a product; below, that of a sum.
template <class T>
T lost_product(const Contract& contract) {
  const FormatProperties& p = properties(contract.accumulator);
  return T(contract.subnormals == Subnormals::flushed ? 2 * p.smallest_normal : p.smallest_subnormal);
}
template <class T>
T lost_sum(const Contract& contract) {
  return contract.subnormals == Subnormals::flushed ? T(properties(contract.accumulator).smallest_normal) : T(0);
}

// A kernel with an exponential of another base multiplies by a rounded logarithm: two roundings.
bool changes_base(const Contract& contract) { return contract.exp_argument_error > 1; }

template <class T>
T capped_error(const Contract& contract, double softcap, const T& score_error, const T& capped) {
  const T roundoff(properties(contract.accumulator).unit_roundoff);
  // Roundings: a quotient, or a reciprocal and a product; tanh, whose relative condition is at most 1; a product.
  const int roundings = 3 + (is_representable(contract, softcap) ? 0 : 1) + (changes_base(contract) ? 2 : 0);
  const StorageError<T> stored = storage_error<T>(contract, contract.softcap);  // of each step's result
  const T log = minus_log1m(T(contract.tanh_error) * roundoff) + T(roundings) * minus_log1m(roundoff) + 3 * stored.unit;
  const T reached = capped + score_error, lost = 3 * (lost_product<T>(contract) + stored.floor);
  return score_error + expm1(log) * reached + exp(log) * lost * (T(1) + T(softcap));
}

}  // namespace

template <class T>
T attributed_score_error(const Contract& contract, const ScoreTerms& terms, const T& score_error, const T& capped,
                         const T& sum) {
  const FpEnvironmentGuard guard;
  const FormatProperties& p = properties(contract.accumulator);
  const T unit = minus_log1m(T(p.unit_roundoff));
  const auto stored = [&](const T& error, const T& size) {
    return contract.scores ? stored_score_error(contract, error, size) : error;
  };
  T error = terms.none() ? score_error : stored(score_error, capped);
  if (terms.softcap != 0) error = stored(capped_error(contract, terms.softcap, error, capped), capped);
  if (terms.slope == 0 && !terms.has_bias) return error;

  // ALiBi: slope and distance rounded to the accumulator, and their product.
  const double farthest = std::max(terms.distance, terms.key);
  const T reach = T(std::fabs(terms.slope)) * T(farthest), bias(std::fabs(terms.bias));
  int additions = 0;
  if (terms.slope != 0) {
    const int roundings =
        1 + (is_representable(contract, terms.slope) ? 0 : 1) + (is_representable(contract, farthest) ? 0 : 1);
    const T log = T(roundings) * unit;
    error = error + expm1(log) * reach + exp(log) * lost_product<T>(contract);
    ++additions;
  }
  if (terms.has_bias) {
    if (!is_representable(contract, terms.bias)) error = error + expm1(unit) * bias + lost_sum<T>(contract);
    ++additions;
  }
  // No partial sum is larger, in any order; with a bias alone the only sum is x.
  const T size = terms.slope == 0 ? sum : capped + reach + bias;
  for (; additions > 0; --additions) error = error + expm1(unit) * (size + error) + lost_sum<T>(contract);
  if (changes_base(contract)) error = error + expm1(2 * unit) * (size + error);
  return stored(error, size);
}

template <class T>
T sink_error(const Contract& contract, double sink) {
  const FpEnvironmentGuard guard;
  const T unit = minus_log1m(T(properties(contract.accumulator).unit_roundoff)), size(std::fabs(sink));
  const int roundings = (is_representable(contract, sink) ? 0 : 1) + (changes_base(contract) ? 2 : 0);
  T error = T(0);
  if (roundings > 0) error = expm1(T(roundings) * unit) * size + lost_product<T>(contract);
  for (const std::optional<Format>& format : {contract.sinks, contract.scores}) {
    if (!format || round_to(*format, sink) == sink) continue;
    const StorageError<T> stored = storage_error<T>(contract, format);
    error = error + expm1(stored.unit) * (size + error) + stored.floor;
  }
  return error;
}

std::uint64_t size_with_sink(const Contract& contract, std::uint64_t n) {
  const std::uint64_t wanted = summation_height(contract, n) + 1;
  std::uint64_t size = n + 1;
  while (size > 1 && summation_height(contract, size) < wanted) size += (size + 7) / 8;
  return size;
}

template UpperBound attributed_score_error<UpperBound>(const Contract&, const ScoreTerms&, const UpperBound&,
                                                       const UpperBound&, const UpperBound&);
template Enclosure attributed_score_error<Enclosure>(const Contract&, const ScoreTerms&, const Enclosure&,
                                                     const Enclosure&, const Enclosure&);
template UpperBound sink_error<UpperBound>(const Contract&, double);
template Enclosure sink_error<Enclosure>(const Contract&, double);

}  // namespace softcheck::numerics
