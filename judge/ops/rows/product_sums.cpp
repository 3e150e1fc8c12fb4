#include "judge/ops/rows/product_sums.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <optional>

#include "judge/ops/rows/long_error.hpp"

namespace softcheck::proptests {

using namespace numerics;
using namespace long_error;

namespace {

// The unit roundoff, which also covers what a sum loses to underflow: in doubles, fewer than 2^40 times 2^-1074, times
// a number below 2^128 of f32 or a narrower format.
template <class Real>
constexpr long double roundoff = unit;
template <>
constexpr long double roundoff<double> = 0x1p-53L;
template <class Real>
constexpr long double underflow = lost;
template <>
constexpr long double underflow<double> = 0x1p-900L;

// n products and their sum, in any order.
template <class Real>
long double roundings(std::size_t n) {
  return second_order * static_cast<long double>(n + 2) * roundoff<Real>;
}

template <class Real>
DotProduct dot_product(std::span<const double> a, std::span<const double> b) {
  constexpr std::size_t lanes = 4;  // independent sums, so that additions do not wait for each other
  std::array<Real, lanes> values{}, sizes{};
  const auto add = [&](std::size_t lane, std::size_t t) {
    const Real product = static_cast<Real>(a[t]) * static_cast<Real>(b[t]);
    values[lane] += product;
    sizes[lane] += std::fabs(product);
  };
  std::size_t t = 0;
  for (; t + lanes <= a.size(); t += lanes) {
    for (std::size_t lane = 0; lane < lanes; ++lane) add(lane, t + lane);
  }
  for (; t < a.size(); ++t) add(0, t);
  const long double size = (sizes[0] + sizes[1]) + (sizes[2] + sizes[3]), off = roundings<Real>(a.size());
  const long double magnitude = size * (1 + off);
  return {(values[0] + values[1]) + (values[2] + values[3]), magnitude, off * magnitude};
}

}  // namespace

Digits digits_for(const Contract& contract) {
  for (const Format format : {contract.accumulator, contract.input, contract.output}) {
    if (format == Format::f64) return Digits::of_long_double;
  }
  return Digits::of_double;
}

DotProduct dot_product(std::span<const double> a, std::span<const double> b, Digits digits) {
  return digits == Digits::of_double ? dot_product<double>(a, b) : dot_product<long double>(a, b);
}

UpperBound sum_of_magnitudes(std::span<const double> a) {
  double computed = 0;
  for (const double x : a) computed += std::fabs(x);
  if (const std::optional<UpperBound> bound = bound_of_sum(computed, a.size())) return *bound;
  UpperBound sum;
  for (const double x : a) sum = sum + UpperBound(std::fabs(x));
  return sum;
}

ProductSums::ProductSums(std::size_t columns, Digits digits) : sizes_(columns), errors_(columns), floors_(columns) {
  if (digits == Digits::of_long_double) totals_.emplace<Totals<long double>>();
  std::visit([&](auto& totals) { totals.values.resize(columns), totals.errors.resize(columns); }, totals_);
}

void ProductSums::add(const Factor& factor, std::span<const double> row) {
  terms_.push_back({row, factor.error, factor.floor});
  // 0 times an infinite bound is 0: a zero adds nothing.
  const auto times = []<class Real>(Real bound, Real magnitude) { return magnitude == 0 ? 0 : bound * magnitude; };
  const auto add_row = [&]<class Real>(Totals<Real>& totals) {
    const auto x = static_cast<Real>(factor.x.value), off = static_cast<Real>(factor.x.error);
    for (std::size_t t = 0; t < row.size(); ++t) {
      totals.values[t] += x * static_cast<Real>(row[t]);
      totals.errors[t] += times(off, static_cast<Real>(std::fabs(row[t])));
    }
  };
  std::visit(add_row, totals_);
  const double size = std::max(factor.size, above(std::fabs(factor.x.value) + factor.x.error));
  const double error = factor.error.value(), floor = factor.floor.value();
  for (std::size_t t = 0; t < row.size(); ++t) {
    const double magnitude = std::fabs(row[t]);
    sizes_[t] += times(size, magnitude);
    errors_[t] += times(error, magnitude);
    floors_[t] += times(floor, magnitude);
  }
}

bool ProductSums::is_of_zeros(std::size_t t) const {
  return std::ranges::all_of(terms_, [t](const Term& term) { return term.row[t] == 0; });
}

// Converting x, multiplying and adding are n + 1 roundings; each is relative to a sum that |v| bounds.
LongApproximation ProductSums::total(std::size_t t) const {
  if (sizes_[t] == 0 && is_of_zeros(t)) return {};
  const auto n = static_cast<long double>(terms_.size());
  const auto total_of = [&]<class Real>(const Totals<Real>& totals) {
    const long double size = static_cast<long double>(sizes_[t]) + n * std::numeric_limits<double>::denorm_min();
    const long double error = static_cast<long double>(totals.errors[t]) + roundings<Real>(terms_.size()) * size;
    return LongApproximation{totals.values[t], second_order * error + underflow<Real>};
  };
  return std::visit(total_of, totals_);
}

double ProductSums::size(std::size_t t) const {
  const long double lost_sizes = static_cast<long double>(terms_.size()) * std::numeric_limits<double>::denorm_min();
  return above(second_order * (static_cast<long double>(sizes_[t]) + lost_sizes));
}

UpperBound ProductSums::error(std::size_t t) const { return bound(errors_[t], t, &Term::error); }
UpperBound ProductSums::floor(std::size_t t) const { return bound(floors_[t], t, &Term::floor); }

UpperBound ProductSums::bound(double computed, std::size_t t, UpperBound Term::*of) const {
  if (const std::optional<UpperBound> bound = bound_of_sum(computed, terms_.size())) return *bound;
  UpperBound sum;
  for (const Term& term : terms_) sum = sum + term.*of * UpperBound(std::fabs(term.row[t]));
  return sum;
}

}  // namespace softcheck::proptests
