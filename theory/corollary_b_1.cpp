#include "theory/corollary_b_1.hpp"

#include <cmath>
#include <stdexcept>
#include <string>

#include "numerics/enclosures/ulp.hpp"
#include "numerics/rows/row_oracle.hpp"
#include "theory/theorem_2_2.hpp"

namespace softcheck::theory {

using numerics::Certificate;
using numerics::certify_less;
using numerics::certify_less_equal;
using numerics::Enclosure;
using numerics::Sides;

namespace {

void require_case(const CollapseCase& input) {
  if (!(input.spread >= 0) || !(input.theta > 0) || !(input.spread / input.theta <= 200)) {
    throw std::invalid_argument("corollary_b_1: need spread >= 0, theta > 0 and spread/theta <= 200");
  }
  for (double value : {input.first, input.other}) {
    if (!std::isfinite(value) || numerics::round_to(input.format, value) != value) {
      throw std::invalid_argument("corollary_b_1: need finite numbers of " +
                                  std::string(numerics::properties(input.format).name) + ", got " +
                                  numerics::hex_float(value));
    }
  }
  if (input.first == input.other) throw std::invalid_argument("corollary_b_1: need f(a) != f(b)");
}

std::string describe(const CollapseCase& input, const Enclosure& length) {
  return std::string(numerics::properties(input.format).name) + " spread " + numerics::hex_float(input.spread) +
         " theta " + numerics::hex_float(input.theta) + " f(a) " + numerics::hex_float(input.first) + " f(b) " +
         numerics::hex_float(input.other) + " n " + length.to_string(20);
}

Enclosure unit_roundoff(const CollapseCase& input) {
  return Enclosure(numerics::properties(input.format).unit_roundoff);
}

Enclosure coefficient_at(const CollapseCase& input, const Enclosure& length) {
  return leading_coefficient(length, Enclosure(input.spread), Enclosure(input.theta));
}

// The neighbour of f(b) in the direction of f(a); for the largest number, the next number if the exponent were not
// limited.
Enclosure neighbour_towards_first(const CollapseCase& input) {
  const double from = input.other;
  const bool upward = input.first > from;
  if (from == 0) {
    const double step = numerics::properties(input.format).smallest_subnormal;
    return Enclosure(upward ? step : -step);
  }
  // Bit patterns of one sign are ordered by magnitude. f(a) is itself a number of the format, so that a neighbour on
  // its side exists.
  const bool away_from_zero = upward == (from > 0);
  const std::uint64_t bits = numerics::encode(input.format, from);
  return Enclosure(numerics::decode(input.format, away_from_zero ? bits + 1 : bits - 1));
}

}  // namespace

std::vector<double> collapse_row(double spread, std::size_t length) {
  std::vector<double> row(length, 0.0);
  if (length > 0) row.front() = spread;
  return row;
}

Enclosure smallest_vanishing_length(const CollapseCase& input) {
  require_case(input);
  return smallest_dispersed_length(input.spread, input.theta, numerics::properties(input.format).unit_roundoff);
}

Enclosure smallest_collapsing_length(const CollapseCase& input) {
  require_case(input);
  // Rounded up: numbers far apart differ by more bits than any precision of the ladder has.
  const double difference = abs(Enclosure(input.first) - Enclosure(input.other)).upper_double();
  if (!std::isfinite(difference)) {
    throw std::invalid_argument("smallest_collapsing_length: need |f(a) - f(b)| within the range of double");
  }
  const Enclosure length = smallest_integer_above([&] {
    // alpha_1 < epsilon = ulp / (4 |f(a) - f(b)|): n > 1 + e^(delta/theta) (1 - epsilon)/epsilon, and
    // (1 - epsilon)/epsilon = 4 |f(a) - f(b)|/ulp - 1, exact: ulp is a power of two.
    const Enclosure odds =
        Enclosure(4) * Enclosure(difference) / Enclosure(numerics::ulp(input.format, input.other)) - Enclosure(1);
    return Enclosure(1) + exp(Enclosure(input.spread) / Enclosure(input.theta)) * odds;
  });
  const numerics::PrecisionScope exact(numerics::precision_ladder.back());
  if (numerics::less_equal(length, Enclosure::power_of_two(400)) != numerics::Decision::proved) {
    throw std::invalid_argument("smallest_collapsing_length: need n <= 2^400, got " + length.to_string(8));
  }
  return maximum(length, Enclosure(2));
}

std::vector<Certificate> certify_coefficient_vanishes(const CollapseCase& input, const Enclosure& length) {
  const Enclosure paper_length = smallest_integer_above(
      [&] { return dispersion_length_paper(Enclosure(input.spread), Enclosure(input.theta), unit_roundoff(input)); });
  std::vector<Certificate> result;
  for (const Enclosure& n : {length, paper_length}) {
    result.push_back(certify_less("corollary_b_1.coefficient_vanishes", describe(input, n), [&] {
      return Sides{coefficient_at(input, n), unit_roundoff(input)};
    }));
  }
  return result;
}

Certificate certify_smallest_length(const CollapseCase& input, const Enclosure& length) {
  return certify_less_equal("corollary_b_1.smallest_length", describe(input, length), [&] {
    return Sides{unit_roundoff(input), coefficient_at(input, length - Enclosure(1))};
  });
}

Certificate certify_output_collapses(const CollapseCase& input, const Enclosure& length) {
  return certify_less("corollary_b_1.output_collapses", describe(input, length), [&] {
    const Enclosure other(input.other);
    // alpha_1 f(a) + (1 - alpha_1) f(b) - f(b), always on the side of f(a).
    const Enclosure moved = coefficient_at(input, length) * (Enclosure(input.first) - other);
    return Sides{abs(moved), abs(neighbour_towards_first(input) - other) / Enclosure(2)};
  });
}

std::vector<Certificate> certify_concrete_row(const CollapseCase& input, const Enclosure& length) {
  constexpr std::uint64_t longest_row = 4096;
  const auto n = as_integer(length);
  if (!n || *n > longest_row) return {};
  const std::vector<double> row = collapse_row(input.spread, *n);
  return {numerics::certify_agreement("corollary_b_1.concrete_row", describe(input, length), [&] {
    return Sides{numerics::RowOracle(row, input.theta).softmax(0), coefficient_at(input, length)};
  })};
}

std::vector<Certificate> check_corollary_b_1(const CollapseCase& input) {
  const Enclosure vanishing = smallest_vanishing_length(input);
  std::vector<Certificate> result = certify_coefficient_vanishes(input, vanishing);
  result.push_back(certify_smallest_length(input, vanishing));
  result.push_back(certify_output_collapses(input, smallest_collapsing_length(input)));
  for (Certificate& certificate : certify_concrete_row(input, vanishing)) result.push_back(std::move(certificate));
  return result;
}

}  // namespace softcheck::theory
