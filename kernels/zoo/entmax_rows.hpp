#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <vector>

#include "kernels/zoo/sparsemax_rows.hpp"

// Glue of the kernels of entmax with alpha = 1.5, so that each file holds its one idea (or its one bug) and nothing
// else.
namespace softcheck::kernels::zoo {

/// Sums over the first items of a sorted row of d; d is half of the distance to the largest logit.
template <class Real>
struct EntmaxSums {
  Real count = 0, sum = 0, squares = 0;

  void add(Real d) {
    count += 1;
    sum += d;
    squares += d * d;
  }
  Real mean() const { return sum / count; }
  /// 1 / k - variance, 0 if that is negative.
  Real radicand() const {
    const Real average = mean(), variance = count * (squares / count - average * average);
    return std::max((1 - variance) / count, Real(0));
  }
  Real root() const { return mean() + std::sqrt(radicand()); }
};

/// A row in the format that it is computed in.
template <class Real>
struct EntmaxRow : SparsemaxRow<Real> {
  /// d of each item; NaN if one is NaN or no item is visible.
  std::vector<Real> halves() const {
    const Real m = this->maximum();
    std::vector<Real> d;
    for (const Real x : this->logits) d.push_back((m - x) / 2);
    return d;
  }
  static std::vector<Real> ascending(std::vector<Real> d) {
    if (!SparsemaxRow<Real>::has_nan(d)) std::sort(d.begin(), d.end());
    return d;
  }
  /// The root of the longest prefix whose items lie within the root of the prefix that they end.
  static Real root_of(const std::vector<Real>& sorted) {
    EntmaxSums<Real> sums;
    Real root = std::numeric_limits<Real>::quiet_NaN();
    for (const Real d : sorted) {
      sums.add(d);
      if (!(d <= sums.root())) break;
      root = sums.root();
    }
    return root;
  }
  /// out: max(root - d, 0)^2, NaN if a logit is NaN.
  void below(const std::vector<Real>& d, Real root) {
    const bool nan = SparsemaxRow<Real>::has_nan(d);
    for (std::size_t i = 0; i < d.size(); ++i) {
      const Real rest = d[i] < root ? root - d[i] : 0;
      this->out[i] = nan || std::isnan(root) ? std::numeric_limits<Real>::quiet_NaN() : rest * rest;
    }
  }
  /// The correct kernel.
  void run() {
    const std::vector<Real> d = halves();
    below(d, root_of(ascending(d)));
  }
};

template <class Compute>
int each_entmax_row(const softcheck_call* call, Compute compute) {
  return each_projected_row<EntmaxRow>(call, SOFTCHECK_OP_ENTMAX15, compute);
}

/// Each row by root(row, its halves, the same sorted).
template <class Root>
int entmax_by_root(const softcheck_call* call, Root root) {
  return each_entmax_row(call, [&](auto& row) {
    const auto d = row.halves();
    row.below(d, root(row, d, row.ascending(d)));
  });
}

}  // namespace softcheck::kernels::zoo

#define SOFTCHECK_BODY_each_entmax_row(name) SOFTCHECK_BODY(void, name, EntmaxRow<Real>& row)
#define SOFTCHECK_BODY_entmax_by_root(name)                                                                      \
  SOFTCHECK_BODY(Real, name, [[maybe_unused]] EntmaxRow<Real>& row, [[maybe_unused]] const std::vector<Real>& d, \
                 [[maybe_unused]] const std::vector<Real>& sorted)
