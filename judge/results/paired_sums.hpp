#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "numerics/enclosures/enclosure.hpp"

namespace softcheck::proptests {

/// Several sums of products of doubles, each as a pair high + low of some 100 bits: Ogita, Rump and Oishi's Dot2 (SIAM
/// J. Sci. Comput. 26, 2005) whose two parts are not added.
///
/// With u = 2^-53, n products h_t + e_t exactly, and sums s_t + q_t exactly: |e_t| <= u |h_t| and |q_t| <= u |s_t|, so
/// that all of them together are at most (n + 1) u M (1 + n u), M = sum |h_t|. low adds them up with n + 1 roundings on
/// any one's way: |high + low - exact| <= (n + 1)^2 u^2 M, 2 % for terms of higher order and the roundings of M and of
/// the bound, and 2^-1072 a product for an e_t that is subnormal.
///
/// Needs round to nearest without flush-to-zero.
class PairedSums {
 public:
  explicit PairedSums(std::size_t sums) : high_(sums, 0), low_(sums, 0), magnitude_(sums, 0) {}

  /// Adds factor * values[k] to sum k.
  void add(double factor, const double* values);
  /// At the working precision; unbounded where a product or a sum overflowed.
  numerics::Enclosure sum(std::size_t k) const;

 private:
  std::vector<double> high_, low_, magnitude_;
  std::uint64_t products_ = 0;
};

}  // namespace softcheck::proptests
