// Bugs of projections: sparsemax and entmax-1.5.
#include "kernels/zoo/projection_rows.hpp"

using namespace softcheck::kernels::zoo;

// Sorted from the smallest on.
// @judged sparsemax f32: sum=sequential masked=nan; fail sparsemax
BUG(mutant_sparsemax_ascending, each_sparsemax_row) {
  const std::vector<Real> z = row.centred();
  std::vector<Real> sorted = row.descending(z);
  std::reverse(sorted.begin(), sorted.end());
  row.above(z, row.threshold_of(sorted));
}

// If the lower end is the root, the sign of the product is 0 and the lower end moves away (entmax 32).
// @judged sparsemax f32: sum=sequential masked=nan; fail sparsemax
BUG(mutant_sparsemax_bisection_loses_its_end, sparsemax_by_threshold) {
  const auto excess = [&](Real tau) {
    Real sum = -1;
    for (const Real value : z) sum += value > tau ? value - tau : 0;
    return sum;
  };
  Real low = -1, width = 1 - 1 / static_cast<Real>(z.size());
  const Real first = excess(low);
  for (int step = 0; step < 60; ++step) {
    width /= 2;
    if (excess(low + width) * first >= 0) low += width;
  }
  return low;
}

// A NaN is not above any threshold: its result is 0, and the other items are computed as usual.
// @judged sparsemax f32: sum=sequential masked=nan; fail sparsemax;
// ANanLogitMakesItsRowNan|EveryPairOfClassesIsComputed
BUG(mutant_sparsemax_drops_nans, each_sparsemax_row) {
  Real m = -std::numeric_limits<Real>::infinity();
  for (const Real x : row.logits) m = x > m ? x : m;
  std::vector<Real> z, sorted;
  for (const Real x : row.logits) z.push_back(x - m);
  for (const Real value : z) {
    if (!std::isnan(value)) sorted.push_back(value);
  }
  const Real tau = row.threshold_of(row.descending(sorted));
  for (std::size_t i = 0; i < z.size(); ++i) row.out[i] = std::isinf(m) ? m - m : z[i] > tau ? z[i] - tau : 0;
}

// The kernel takes the largest k that satisfies the condition, and does not stop at the first k that does not. In long
// rows rounding errors can make a later k satisfy it again.
// @judged sparsemax f32: sum=sequential masked=nan; fail sparsemax;
// EveryValueLiesWithinItsThreshold|FarItemsCountTogether|EveryWidthIsComputed|EveryPairOfClassesIsComputed; witness
// >=1000
BUG(mutant_sparsemax_last_that_meets, sparsemax_by_threshold) {
  Real sum = 0, tau = std::numeric_limits<Real>::quiet_NaN();
  for (std::size_t k = 0; k < sorted.size(); ++k) {
    sum += sorted[k];
    if (1 + static_cast<Real>(k + 1) * sorted[k] > sum) tau = (sum - 1) / static_cast<Real>(k + 1);
  }
  return tau;
}

// The mean is subtracted, which -inf makes -inf (TensorFlow 15564).
// @judged sparsemax f32: sum=sequential masked=nan; fail sparsemax;
// EveryValueLiesWithinItsThreshold|AMaskedItemIsADeletedOne
BUG(mutant_sparsemax_less_the_mean, each_sparsemax_row) {
  Real mean = 0;
  for (const Real x : row.logits) mean += x / static_cast<Real>(row.size());
  std::vector<Real> z;
  for (const Real x : row.logits) z.push_back(x - mean);
  row.above(z, row.threshold_of(row.descending(z)));
}

// Z - tau is not cut off at 0.
// @judged sparsemax f32: sum=sequential masked=nan; fail sparsemax
BUG(mutant_sparsemax_not_clipped, each_sparsemax_row) {
  const std::vector<Real> z = row.centred(), sorted = row.descending(z);
  const Real tau = row.threshold_of(sorted);
  for (std::size_t i = 0; i < z.size(); ++i) row.out[i] = z[i] - tau;
}

// The divisor is the number of items in the support plus one.
// @judged sparsemax f32: sum=sequential masked=nan; fail sparsemax
BUG(mutant_sparsemax_one_item_more, sparsemax_by_threshold) {
  Real sum = 0, tau = -1;
  for (std::size_t k = 0; k < sorted.size(); ++k) {
    sum += sorted[k];
    if (1 + static_cast<Real>(k + 1) * sorted[k] > sum) tau = (sum - 1) / static_cast<Real>(k + 2);
  }
  return tau;
}

// The condition is z_k > (sum - 1) / k, where the sum of two large numbers is -inf: the item counts (the form of
// Keras and TensorFlow).
// @judged sparsemax f32: sum=sequential masked=nan; fail sparsemax
BUG(mutant_sparsemax_quotient_overflows, sparsemax_by_threshold) {
  Real sum = 0;
  std::size_t support = 0;
  for (std::size_t k = 0; k < sorted.size(); ++k) {
    sum += sorted[k];
    if (sorted[k] - (sum - 1) / static_cast<Real>(k + 1) > 0) ++support;
  }
  Real again = 0;
  for (std::size_t k = support; k-- > 0;) again += sorted[k];
  return (again - 1) / static_cast<Real>(support);
}

// The support has softmax's coefficients.
// @judged sparsemax f32: sum=sequential masked=nan; fail sparsemax
BUG(mutant_sparsemax_softmax_of_the_support, each_sparsemax_row) {
  const std::vector<Real> z = row.centred(), sorted = row.descending(z);
  const Real tau = row.threshold_of(sorted);
  row.above(z, tau);
  Real sum = 0;
  for (std::size_t i = 0; i < z.size(); ++i) sum += row.out[i] > 0 ? std::exp(z[i]) : 0;
  for (std::size_t i = 0; i < z.size(); ++i) row.out[i] = row.out[i] > 0 ? std::exp(z[i]) / sum : row.out[i];
}

// The threshold has the sum of the sums up to each item of the support (Keras 23469, TensorFlow 127246).
// @judged sparsemax f32: sum=sequential masked=nan; fail sparsemax
BUG(mutant_sparsemax_sum_of_sums, sparsemax_by_threshold) {
  Real sum = 0, sums = 0, support = 0;
  for (std::size_t k = 0; k < sorted.size(); ++k) {
    sum += sorted[k];
    if (!(1 + static_cast<Real>(k + 1) * sorted[k] > sum)) continue;
    sums += sum;
    support += 1;
  }
  return (sums - 1) / support;
}

// The sums of the sorted items are stored in f16.
// @judged sparsemax f32: sum=sequential masked=nan; fail sparsemax
BUG(mutant_sparsemax_sums_in_f16, sparsemax_by_threshold) {
  Real sum = 0, tau = -1;
  for (std::size_t k = 0; k < sorted.size(); ++k) {
    sum = static_cast<Real>(rounded_to_f16(static_cast<float>(sum + sorted[k])));
    if (1 + static_cast<Real>(k + 1) * sorted[k] > sum) tau = (sum - 1) / static_cast<Real>(k + 1);
  }
  return tau;
}

// The threshold of the first row is used for all rows.
// @judged sparsemax f32: sum=sequential masked=nan; fail sparsemax;
// LayoutsAndNeighboursDoNotMatter|EveryPairOfClassesIsComputed|ManyRowsAreEachAsRight
SOFTCHECK_MUTANT mutant_sparsemax_tau_of_the_first_row(const softcheck_call* call) {
  std::optional<double> tau;
  return each_sparsemax_row(call, [&]<class Real>(SparsemaxRow<Real>& row) {
    const std::vector<Real> z = row.centred();
    if (!tau) tau = static_cast<double>(row.threshold_of(row.descending(z)));
    row.above(z, static_cast<Real>(*tau));
  });
}

// Tau by ten halvings of its interval; the result is not normalised (the class of entmax 30).
// @judged sparsemax f32: sum=sequential masked=nan; fail sparsemax
BUG(mutant_sparsemax_ten_halvings, sparsemax_by_threshold) {
  Real low = -1, high = 0;
  for (int step = 0; step < 10; ++step) {
    const Real middle = (low + high) / 2;
    Real sum = 0;
    for (const Real value : z) sum += value > middle ? value - middle : 0;
    (sum >= 1 ? low : high) = middle;
  }
  return low;
}

// No maximum is subtracted: 1 is lost next to large logits, and no item satisfies the condition (TensorFlow Addons
// 2314).
// @judged sparsemax f32: sum=sequential masked=nan; fail sparsemax
BUG(mutant_sparsemax_uncentred, each_sparsemax_row) {
  row.above(row.logits, row.threshold_of(row.descending(row.logits)));
}

// The sums are those of the items as they come.
// @judged sparsemax f32: sum=sequential masked=nan; fail sparsemax
BUG(mutant_sparsemax_unsorted, sparsemax_by_threshold) { return row.threshold_of(z); }

// The condition is 1 + z_k > the sum of the first k.
// @judged sparsemax f32: sum=sequential masked=nan; fail sparsemax
BUG(mutant_sparsemax_without_k, sparsemax_by_threshold) {
  Real sum = 0, tau = -1;
  for (std::size_t k = 0; k < sorted.size(); ++k) {
    sum += sorted[k];
    if (1 + sorted[k] > sum) tau = (sum - 1) / static_cast<Real>(k + 1);
  }
  return tau;
}

// A buffer of 4,096 candidates for the support: later items are not considered.
// @judged sparsemax f32: plain; fail C5; KnownShapesAreComputed; effort default
BUG(mutant_sparsemax_of_4096_candidates, each_sparsemax_row) {
  const auto z = row.centred();
  auto sorted = row.descending(z);
  if (sorted.size() > 4096) sorted.resize(4096);
  row.above(z, row.threshold_of(sorted));
}
// @judged entmax15 f32: plain; fail C5; KnownShapesAreComputed; effort default
BUG(mutant_entmax15_of_4096_candidates, each_entmax_row) {
  const auto d = row.halves();
  auto sorted = row.ascending(d);
  if (sorted.size() > 4096) sorted.resize(4096);
  row.below(d, row.root_of(sorted));
}

// If an end of the interval is the root, the sign of the product is 0 and that end moves away (entmax 32).
// @judged entmax15 f32: sum=sequential masked=nan; fail entmax
BUG(mutant_entmax15_bisection_loses_its_end, entmax_by_root) {
  const auto excess = [&](Real t) {
    Real total = -1;
    for (const Real value : d) total += value < t ? (t - value) * (t - value) : 0;
    return total;
  };
  Real high = 1, width = 1 - 1 / std::sqrt(static_cast<Real>(d.size()));
  const Real first = excess(high);
  for (int step = 0; step < 60; ++step) {
    width /= 2;
    if (excess(high - width) * first >= 0) high -= width;
  }
  return high;
}

// A NaN is not within any root: its result is 0, and the other items are computed as usual.
// @judged entmax15 f32: sum=sequential masked=nan; fail entmax; ANanLogitMakesItsRowNan|EveryPairOfClassesIsComputed
BUG(mutant_entmax15_drops_nans, each_entmax_row) {
  Real m = -std::numeric_limits<Real>::infinity();
  for (const Real x : row.logits) m = x > m ? x : m;
  std::vector<Real> d, sorted;
  for (const Real x : row.logits) d.push_back((m - x) / 2);
  for (const Real value : d) {
    if (!std::isnan(value)) sorted.push_back(value);
  }
  const Real root = row.root_of(row.ascending(sorted));
  for (std::size_t i = 0; i < d.size(); ++i) {
    row.out[i] = std::isinf(m) ? m - m : d[i] < root ? (root - d[i]) * (root - d[i]) : 0;
  }
}

// The support is searched only among the hundred largest items, as in entmax15(k=100) without its check that the
// support ends there.
// @judged entmax15 f32: sum=sequential masked=nan; fail entmax; witness >=101
BUG(mutant_entmax15_hundred_largest, entmax_by_root) {
  return row.root_of({sorted.begin(), sorted.begin() + std::min<std::ptrdiff_t>(100, std::ssize(sorted))});
}

// Alpha is 2: sparsemax.
// @judged entmax15 f32: sum=sequential masked=nan; fail entmax
BUG(mutant_entmax15_is_sparsemax, each_entmax_row) {
  const std::vector<Real> z = row.centred();
  row.above(z, row.threshold_of(row.descending(z)));
}

// The kernel takes the largest k whose item is within the root of its own prefix, and does not stop at the first k that
// is not. In long rows rounding errors can make a later k satisfy the condition again.
// @judged entmax15 f32: sum=sequential masked=nan; fail entmax;
// EveryValueLiesWithinItsThreshold|FarItemsCountTogether|EveryWidthIsComputed|EveryPairOfClassesIsComputed; witness
// >=1000
BUG(mutant_entmax15_last_that_meets, entmax_by_root) {
  EntmaxSums<Real> sums;
  Real root = std::numeric_limits<Real>::quiet_NaN();
  for (const Real value : sorted) {
    sums.add(value);
    if (value <= sums.root()) root = sums.root();
  }
  return root;
}

// The coefficients are the roots, as sparsemax has them.
// @judged entmax15 f32: sum=sequential masked=nan; fail entmax
BUG(mutant_entmax15_not_squared, each_entmax_row) {
  row.run();
  for (Real& value : row.out) value = std::sqrt(value);
}

// A negative radicand is not replaced by 0: the root is NaN, which no item exceeds, and the loop does not end there.
// @judged entmax15 f32: sum=sequential masked=nan; fail entmax
BUG(mutant_entmax15_radicand_below_zero, entmax_by_root) {
  EntmaxSums<Real> sums;
  Real root = std::numeric_limits<Real>::quiet_NaN();
  for (const Real value : sorted) {
    sums.add(value);
    const Real mean = sums.mean(), variance = sums.squares / sums.count - mean * mean;
    const Real next = mean + std::sqrt(1 / sums.count - variance);
    if (value > next) break;
    root = next;
  }
  return root;
}

// The root of the first row is used for all rows.
// @judged entmax15 f32: sum=sequential masked=nan; fail entmax;
// LayoutsAndNeighboursDoNotMatter|EveryPairOfClassesIsComputed|ManyRowsAreEachAsRight
SOFTCHECK_MUTANT mutant_entmax15_root_of_the_first_row(const softcheck_call* call) {
  std::optional<double> root;
  return each_entmax_row(call, [&]<class Real>(EntmaxRow<Real>& row) {
    const std::vector<Real> d = row.halves();
    if (!root) root = static_cast<double>(row.root_of(row.ascending(d)));
    row.below(d, static_cast<Real>(*root));
  });
}

// The smaller root of the quadratic.
// @judged entmax15 f32: sum=sequential masked=nan; fail entmax
BUG(mutant_entmax15_smaller_root, entmax_by_root) {
  EntmaxSums<Real> sums;
  Real root = std::numeric_limits<Real>::quiet_NaN();
  for (const Real value : sorted) {
    sums.add(value);
    if (!(value <= sums.root())) break;
    root = sums.mean() - std::sqrt(sums.radicand());
  }
  return root;
}

// The sums of the sorted items are stored in f16.
// @judged entmax15 f32: sum=sequential masked=nan; fail entmax
BUG(mutant_entmax15_sums_in_f16, entmax_by_root) {
  EntmaxSums<Real> sums;
  Real root = std::numeric_limits<Real>::quiet_NaN();
  for (const Real value : sorted) {
    sums.add(value);
    sums.sum = static_cast<Real>(rounded_to_f16(static_cast<float>(sums.sum)));
    sums.squares = static_cast<Real>(rounded_to_f16(static_cast<float>(sums.squares)));
    if (!(value <= sums.root())) break;
    root = sums.root();
  }
  return root;
}

// The root by ten halvings of its interval; the result is not normalised (the class of entmax 30).
// @judged entmax15 f32: sum=sequential masked=nan; fail entmax
BUG(mutant_entmax15_ten_halvings, entmax_by_root) {
  const auto excess = [&](Real t) {
    Real total = -1;
    for (const Real value : d) total += value < t ? (t - value) * (t - value) : 0;
    return total;
  };
  Real low = 0, high = 1;
  for (int step = 0; step < 10; ++step) {
    const Real middle = (low + high) / 2;
    (excess(middle) >= 0 ? high : low) = middle;
  }
  return row.has_nan(d) ? d[0] - d[0] : high;
}

// The variance is divided by k - 1, as torch.var does by default.
// @judged entmax15 f32: sum=sequential masked=nan; fail entmax
BUG(mutant_entmax15_unbiased_variance, entmax_by_root) {
  EntmaxSums<Real> sums;
  Real root = std::numeric_limits<Real>::quiet_NaN();
  for (const Real value : sorted) {
    sums.add(value);
    const Real mean = sums.mean(), less = std::max(sums.count - 1, Real(1));
    const Real variance = (sums.squares - sums.sum * mean) / less;
    const Real next = mean + std::sqrt(std::max(1 / sums.count - variance, Real(0)));
    if (!(value <= next)) break;
    root = next;
  }
  return root;
}

// Nothing is subtracted first: squares of large logits cancel or overflow (the class of TensorFlow Addons 2314).
// @judged entmax15 f32: sum=sequential masked=nan; fail entmax
BUG(mutant_entmax15_uncentred, each_entmax_row) {
  std::vector<Real> d;
  for (const Real x : row.logits) d.push_back(-x / 2);
  row.below(d, row.root_of(row.ascending(d)));
}

// The sums are those of the items as they come.
// @judged entmax15 f32: sum=sequential masked=nan; fail entmax
BUG(mutant_entmax15_unsorted, entmax_by_root) { return row.root_of(d); }

// The logits are not halved: alpha is 1.5 where p = max(x / 2 - tau, 0)^2.
// @judged entmax15 f32: sum=sequential masked=nan; fail entmax
BUG(mutant_entmax15_without_half, each_entmax_row) {
  std::vector<Real> d = row.halves();
  for (Real& value : d) value *= 2;
  row.below(d, row.root_of(row.ascending(d)));
}
