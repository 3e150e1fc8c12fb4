// C2, FlashInfer #4051, LeetCUDA PR #419, AIInfraGuide PR #48: two parts of nothing but masked items are merged: (-inf)
// - (-inf) is NaN.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

#include "kernels/zoo/reference_rows.hpp"

using namespace softcheck::kernels::zoo;

namespace {
constexpr std::size_t block = 16;

template <class Real>
Sums<Real> merged(const RowOf<Real>& row) {
  Sums<Real> all{-infinity, 0, 0};
  for (std::size_t i = 0; i < row.logits.size(); i += block) {
    const std::size_t end = std::min(i + block, row.logits.size());
    const auto at = [&](std::size_t place) { return row.logits.begin() + static_cast<std::ptrdiff_t>(place); };
    const RowOf<Real> part{std::vector<Real>(at(i), at(end)), row.theta, {}};
    const Sums<Real> sums = maximum(part.logits) == -infinity ? Sums<Real>{-infinity, 0, 0} : sums_of(part);
    const Real m = std::max(all.maximum, sums.maximum);
    const Real scale = reciprocal_theta(row);
    all.weights =
        all.weights * std::exp((all.maximum - m) * scale) + sums.weights * std::exp((sums.maximum - m) * scale);
    all.maximum = m;
  }
  return all;
}
}  // namespace

SOFTCHECK_MUTANT mutant_merge_without_guard(const softcheck_call* call) {
  return each_row(call, []<class Real>(RowOf<Real>& row) {
    row.out[0] = logsumexp_or(row, [](const RowOf<Real>& finite) { return logsumexp_of(finite, merged(finite)); });
  });
}
