#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>
#include <random>
#include <span>
#include <utility>
#include <vector>

#include "numerics/rounding/contract.hpp"

namespace softcheck::numerics::simulated {

/// What merge makes of the leaves, one after the other.
template <class Leaf, class Merge>
Leaf merged_sequentially(std::span<const Leaf> leaves, Merge merge) {
  Leaf total = leaves.front();
  for (const Leaf& leaf : leaves.subspan(1)) total = merge(total, leaf);
  return total;
}

/// What merge makes of the leaves in a balanced tree.
template <class Leaf, class Merge>
Leaf merged_pairwise(std::vector<Leaf> leaves, Merge merge) {
  while (leaves.size() > 1) {
    std::vector<Leaf> halved;
    for (std::size_t i = 0; i + 1 < leaves.size(); i += 2) halved.push_back(merge(leaves[i], leaves[i + 1]));
    if (leaves.size() % 2) halved.push_back(leaves.back());
    leaves = std::move(halved);
  }
  return leaves.front();
}

/// What merge makes of the leaves in a contract's order.
///
/// leaves   at least one          empty   a leaf that changes nothing
template <class Leaf, class Merge>
Leaf merged_in_order(const Summation& summation, std::vector<Leaf> leaves, const Leaf& empty, Merge merge) {
  const std::size_t width = summation.width;
  const std::span<const Leaf> all(leaves);
  std::vector<Leaf> partial;
  switch (summation.kind) {
    case Summation::Kind::sequential:
      return merged_sequentially(all, merge);
    case Summation::Kind::tree:
      return merged_pairwise(std::move(leaves), merge);
    case Summation::Kind::lanes:
      partial.assign(width, empty);
      for (std::size_t i = 0; i < all.size(); ++i) {
        partial[i % width] = i < width ? all[i] : merge(partial[i % width], all[i]);
      }
      return merged_pairwise(std::move(partial), merge);
    case Summation::Kind::blocks:
      for (std::size_t i = 0; i < all.size(); i += width) {
        partial.push_back(merged_sequentially(all.subspan(i, std::min(width, all.size() - i)), merge));
      }
      return merged_pairwise(std::move(partial), merge);
  }
  return empty;
}

/// Which of the errors that a contract allows an exponential or a logarithm makes.
enum class Errors { nearest, up, down, random, up_below_one };

/// The arithmetic of an accumulator format, by doubles: a sum, product or quotient of two numbers of at most 24 bits is
/// the same whether rounded to 53 bits first or not, as 53 >= 2 * 24 + 2.
class Arithmetic {
 public:
  Arithmetic(const Contract& contract, Errors errors, std::uint64_t seed = 1)
      : contract_(contract), format_(properties(contract.accumulator)), errors_(errors), engine_(seed) {}

  double round(double x) const {
    // round_to by bits costs more than the native conversion.
    const double rounded = contract_.accumulator == Format::f64   ? x
                           : contract_.accumulator == Format::f32 ? static_cast<double>(static_cast<float>(x))
                                                                  : round_to(contract_.accumulator, x);
    return flush(rounded, format_);
  }
  double add(double a, double b) const { return round(a + b); }
  double subtract(double a, double b) const { return round(a - b); }
  double multiply(double a, double b) const { return a == 0 || b == 0 ? 0 : round(a * b); }
  double divide(double a, double b) const { return round(a / b); }
  /// As it is stored on its way, where the contract has a format for it.
  double stored(const std::optional<Format>& format, double x) const {
    return format ? flush(round_to(*format, x), properties(*format)) : x;
  }
  double output(double x) const { return flush(round_to(contract_.output, x), properties(contract_.output)); }

  /// e^a, a <= 0 a number of the accumulator, with the errors that A and E leave beyond the rounding of a itself.
  double exponential(double a) {
    if (a == 0 && (errors_ == Errors::nearest || errors_ == Errors::random)) return 1;
    const double beyond = std::max(contract_.exp_argument_error - 1, 0.0) * format_.unit_roundoff * inward;
    const long double argument = static_cast<long double>(a) * (1 - sign(a != 0) * beyond);
    const long double exact = std::exp(argument);
    // The model's cutoff D_0: no exponential invents a number this far below the smallest.
    if (exact < static_cast<long double>(format_.smallest_subnormal) * format_.smallest_subnormal)
      return contract_.least_exp;
    return std::max(contract_.least_exp, allowed(exact, contract_.exp_error * format_.unit_roundoff, a != 0));
  }

  double logarithm(double a) {
    const long double exact = std::log(static_cast<long double>(a));
    return allowed(exact, contract_.log_error * format_.unit_roundoff, a != 1);
  }

  const Contract& contract() const { return contract_; }
  Errors errors() const { return errors_; }
  void set_errors(Errors errors) { errors_ = errors; }

 private:
  // Long double's own error, 2^-63 relative, stays inside an allowance of at least 2^-53.
  static constexpr double inward = 1 - 0x1p-8;

  double flush(double x, const FormatProperties& format) const {
    const bool lost = contract_.subnormals == Subnormals::flushed && std::abs(x) < format.smallest_normal;
    return lost ? std::copysign(0.0, x) : x;
  }

  double sign(bool below_one) {
    switch (errors_) {
      case Errors::nearest:
        return 0;
      case Errors::up:
        return 1;
      case Errors::down:
        return -1;
      case Errors::random:
        return std::uniform_real_distribution<double>(-1, 1)(engine_);
      case Errors::up_below_one:
        return below_one ? 1 : -1;
    }
    return 0;
  }

  // The number of the format nearest to exact (1 + sign bound), or its neighbour towards exact where that is too far.
  double allowed(long double exact, double bound, bool below_one) {
    const double direction = sign(below_one);
    const double quanta = contract_.exp_error / 2 * format_.smallest_subnormal;  // where ulps stop shrinking
    const long double room = std::max(std::abs(exact) * static_cast<long double>(bound * inward),
                                      static_cast<long double>(std::abs(exact) < format_.smallest_normal ? quanta : 0));
    const double nearest = round_to(contract_.accumulator, static_cast<double>(exact));
    if (direction == 0) return flush(nearest, format_);
    double wanted = round_to(contract_.accumulator, static_cast<double>(exact + direction * room));
    if (std::abs(static_cast<long double>(wanted) - exact) > room) {
      // Half a step back rounds to the neighbour nearer to exact.
      const double step = std::max(std::abs(wanted) * format_.unit_roundoff * 2, format_.smallest_subnormal);
      wanted = round_to(contract_.accumulator, wanted - (wanted > exact ? step : -step) * 0.75);
      if (std::abs(static_cast<long double>(wanted) - exact) > room) wanted = nearest;
    }
    return flush(wanted, format_);
  }

  Contract contract_;
  const FormatProperties& format_;
  Errors errors_;
  std::mt19937_64 engine_;
};

inline double sum_in_order(const Arithmetic& a, std::vector<double> terms) {
  return merged_in_order(a.contract().summation, std::move(terms), 0.0, [&](double x, double y) {
    return x == 0 ? y : y == 0 ? x : a.add(x, y);
  });
}

}  // namespace softcheck::numerics::simulated
