#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <vector>

#include "kernels/zoo/rows.hpp"

// Glue of the kernels of projections: logits in every dtype and with any strides, so that each kernel holds its one
// idea (or its one bug) and nothing else.
namespace softcheck::kernels::zoo {

/// A row in the format that it is computed in: double for f64, float for the rest.
template <class Real>
struct SparsemaxRow {
  std::vector<Real> logits;
  std::vector<Real> out;  // (n), 0 at first

  std::size_t size() const { return logits.size(); }
  Real maximum() const { return largest_of(logits); }
  /// The logits less their maximum; NaN if one is NaN or no item is visible.
  std::vector<Real> centred() const {
    const Real m = maximum();
    std::vector<Real> z;
    for (const Real x : logits) z.push_back(x - m);
    return z;
  }
  static bool has_nan(const std::vector<Real>& z) {
    return std::any_of(z.begin(), z.end(), [](Real value) { return std::isnan(value); });
  }
  static std::vector<Real> descending(std::vector<Real> z) {
    if (!has_nan(z)) std::sort(z.begin(), z.end(), std::greater<>());
    return z;
  }
  /// (sum of the support - 1) / k, the support up to the first k without 1 + k z_k > the sum of the first k.
  static Real threshold_of(const std::vector<Real>& sorted) {
    Real sum = 0, tau = std::numeric_limits<Real>::quiet_NaN();
    for (std::size_t k = 0; k < sorted.size(); ++k) {
      const Real count = static_cast<Real>(k + 1);
      sum += sorted[k];
      if (!(1 + count * sorted[k] > sum)) break;
      tau = (sum - 1) / count;
    }
    return tau;
  }
  /// out: max(z - tau, 0), NaN if a logit is NaN.
  void above(const std::vector<Real>& z, Real tau) {
    const bool nan = has_nan(z);
    for (std::size_t i = 0; i < z.size(); ++i) {
      out[i] = nan ? std::numeric_limits<Real>::quiet_NaN() : z[i] > tau ? z[i] - tau : 0;
    }
  }
  /// The correct kernel.
  void run() {
    const std::vector<Real> z = centred();
    above(z, threshold_of(descending(z)));
  }
};

/// Calls compute(Row<Real>&) for every row of a call. Returns 1 for a call of another op.
template <template <class> class Row, class Compute>
int each_projected_row(const softcheck_call* call, std::uint32_t op, Compute compute) {
  if (call_of(call, op, 1, 1) == nullptr) return 1;
  const View logits(*call->inputs[0]), out(*call->outputs[0]);
  return in_format_of(logits.type, [&]<class Real>(Real) {
    for (std::int64_t r = 0; r < logits.rows; ++r) {
      Row<Real> row;
      row.logits = read_row<Real>(logits, r);
      row.out.assign(row.size(), 0);
      if (row.size() > 0) compute(row);
      write_row(out, r, row.out);
    }
  });
}

template <class Compute>
int each_sparsemax_row(const softcheck_call* call, Compute compute) {
  return each_projected_row<SparsemaxRow>(call, SOFTCHECK_OP_SPARSEMAX, compute);
}

/// Each row by threshold(row, the centred row z, the same sorted).
template <class Threshold>
int sparsemax_by_threshold(const softcheck_call* call, Threshold threshold) {
  return each_sparsemax_row(call, [&](auto& row) {
    const auto z = row.centred();
    row.above(z, threshold(row, z, row.descending(z)));
  });
}

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

#define SOFTCHECK_BODY_each_sparsemax_row(name) SOFTCHECK_BODY(void, name, SparsemaxRow<Real>& row)
#define SOFTCHECK_BODY_sparsemax_by_threshold(name)                                                                 \
  SOFTCHECK_BODY(Real, name, [[maybe_unused]] SparsemaxRow<Real>& row, [[maybe_unused]] const std::vector<Real>& z, \
                 [[maybe_unused]] const std::vector<Real>& sorted)
#define SOFTCHECK_BODY_each_entmax_row(name) SOFTCHECK_BODY(void, name, EntmaxRow<Real>& row)
#define SOFTCHECK_BODY_entmax_by_root(name)                                                                      \
  SOFTCHECK_BODY(Real, name, [[maybe_unused]] EntmaxRow<Real>& row, [[maybe_unused]] const std::vector<Real>& d, \
                 [[maybe_unused]] const std::vector<Real>& sorted)
