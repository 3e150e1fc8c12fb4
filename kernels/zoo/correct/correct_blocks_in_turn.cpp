// Correct under sum=lanes:1: blocks of 16 logits, each one logit after the other below its own maximum, and the blocks
// one after the other to a running sum. It rescales more often than the row's own maximum rises, so that it does not
// keep sum=sequential. An exponential errs by 48 u: up in sums, down in numerators.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <span>

#include "kernels/zoo/reference_rows.hpp"

using namespace softcheck::kernels::zoo;

namespace {

template <class Real>
Real exponential_off(Real argument, int direction) {
  if (argument == 0) return 1;  // as every contract says
  const long double off = 46 * direction * (std::numeric_limits<Real>::epsilon() / 2);
  return static_cast<Real>(std::exp(static_cast<long double>(argument)) * (1 + off));
}

template <class Real>
struct RunningSum {
  Real maximum = -infinity, sum = 0;
};

// The sum of two states, by the exponential of the difference of their maxima.
template <class Real>
RunningSum<Real> added_in_turn(const RunningSum<Real>& before, const RunningSum<Real>& next, Real scale) {
  if (before.maximum == -infinity) return next;
  if (next.maximum > before.maximum) {
    const Real factor = exponential_off((before.maximum - next.maximum) * scale, 1);
    return {next.maximum, before.sum * factor + next.sum};
  }
  if (next.maximum == -infinity) return before;
  return {before.maximum, before.sum + next.sum * exponential_off((next.maximum - before.maximum) * scale, 1)};
}

}  // namespace

SOFTCHECK_MUTANT correct_blocks_in_turn(const softcheck_call* call) {
  return each_row(call, []<class Real>(RowOf<Real>& row) {
    constexpr std::size_t width = 16;
    const Real scale = reciprocal_theta(row);
    const std::span<const Real> logits(row.logits);
    RunningSum<Real> all;
    bool undefined = false;
    for (std::size_t begin = 0; begin < logits.size(); begin += width) {
      RunningSum<Real> block;
      for (const Real x : logits.subspan(begin, std::min(width, logits.size() - begin))) {
        undefined = undefined || std::isnan(x) || x == infinity;
        if (x > -infinity) block = added_in_turn(block, {x, 1}, scale);
      }
      all = added_in_turn(all, block, scale);
    }
    for (std::size_t i = 0; i < row.out.size(); ++i) {
      row.out[i] = undefined ? quiet_nan : exponential_off((logits[i] - all.maximum) * scale, -1) / all.sum;
    }
  });
}
