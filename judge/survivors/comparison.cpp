#include <algorithm>
#include <cfloat>
#include <cmath>
#include <numeric>

#include "judge/survivors/criterion.hpp"

namespace softcheck::proptests {
namespace {

using Elements = std::span<const double>;

template <class Within>
bool each(Elements got, Elements expected, Within within) {
  return std::ranges::equal(got, expected, within);
}

bool mean_square(const Comparison& comparison, Elements got, Elements expected) {
  double difference = 0, size = 0;
  for (std::size_t i = 0; i < got.size(); ++i) {
    if (!std::isfinite(got[i])) return false;
    difference += (got[i] - expected[i]) * (got[i] - expected[i]);
    size += got[i] * got[i];
  }
  return difference / size <= comparison.relative;
}

double square_sum(Elements got, Elements expected) {
  double sum = 0;
  for (std::size_t i = 0; i < got.size(); ++i) sum += (got[i] - expected[i]) * (got[i] - expected[i]);
  return sum;
}

bool saved_counts(const Comparison& comparison, Elements got, Elements expected, std::size_t length) {
  if (std::ranges::any_of(got, [](double g) { return std::isnan(g); })) return false;
  const auto kept = [&](Elements values, std::size_t first) {
    const Elements row = values.subspan(first, length);
    return static_cast<double>(row.size()) - static_cast<double>(std::ranges::count(row, 0.0));
  };
  double difference = 0, most = 0;
  for (std::size_t first = 0; first < got.size(); first += length) {
    difference = std::max(difference, std::fabs(kept(got, first) - kept(expected, first)));
    most = std::max(most, kept(expected, first));
  }
  return difference <= comparison.absolute || difference < comparison.relative * most;
}

// As in tests/benchdnn/utils/compare.cpp; the softmax driver's own check also accepts an f32 epsilon.
bool relative_or_epsilon(const Comparison& comparison, double got, double expected) {
  const double difference = std::fabs(got - expected);
  const double error = std::fabs(expected) > 1e-5 ? difference / std::fabs(expected) : difference;
  return error <= comparison.relative || difference < static_cast<double>(FLT_EPSILON);
}

double sum(Elements values) { return std::accumulate(values.begin(), values.end(), 0.0); }

template <class Holds>
bool each_row(Elements got, std::size_t length, Holds holds) {
  for (std::size_t first = 0; first < got.size(); first += length) {
    if (!holds(got.subspan(first, length))) return false;
  }
  return true;
}

}  // namespace

bool accepts(const Comparison& comparison, Elements got, Elements expected, std::size_t row_length) {
  const double absolute = comparison.absolute;
  const double relative = comparison.relative;
  switch (comparison.rule) {
    case Comparison::Rule::allclose:
      return each(got, expected,
                  [&](double g, double e) { return std::fabs(g - e) <= absolute + relative * std::fabs(e); });
    case Comparison::Rule::allclose_or_equal:
      return each(got, expected, [&](double g, double e) {
        if (!std::isfinite(e)) return g == e || (std::isnan(g) && std::isnan(e));
        return std::fabs(g - e) <= absolute + relative * std::fabs(e);
      });
    case Comparison::Rule::allclose_of_got:
      return each(got, expected,
                  [&](double g, double e) { return std::fabs(g - e) <= absolute + relative * std::fabs(g); });
    case Comparison::Rule::squares:
      return each(got, expected,
                  [&](double g, double e) { return std::fabs(g * g - e * e) <= absolute + relative * e * e; });
    case Comparison::Rule::larger_of_both:
      return each(got, expected,
                  [&](double g, double e) { return std::fabs(g - e) <= std::max(absolute, relative * std::fabs(e)); });
    case Comparison::Rule::square_sum:
      return square_sum(got, expected) <= absolute;
    case Comparison::Rule::saved_counts:
      return saved_counts(comparison, got, expected, row_length);
    case Comparison::Rule::mean_square:
      return mean_square(comparison, got, expected);
    case Comparison::Rule::relative_or_epsilon:
      return each(got, expected, [&](double g, double e) { return relative_or_epsilon(comparison, g, e); });
    case Comparison::Rule::row_sums:
      return each_row(got, row_length, [&](Elements row) { return std::fabs(sum(row) - 1) <= absolute + relative; });
    case Comparison::Rule::total:
      return std::fabs(sum(got) * static_cast<double>(row_length) - static_cast<double>(got.size())) <=
             absolute * static_cast<double>(row_length);
    case Comparison::Rule::between_zero_and_one:
      return std::ranges::all_of(got, [](double g) { return g >= 0 && g <= 1; });
    case Comparison::Rule::first_takes_all:
      return each_row(got, row_length, [&](Elements row) {
        return row[0] > 1 - absolute && std::ranges::all_of(row.subspan(1), [&](double g) { return g < absolute; });
      });
  }
  return false;
}

}  // namespace softcheck::proptests
