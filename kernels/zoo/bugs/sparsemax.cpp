// Bugs of sparsemax.
#include "kernels/zoo/sparsemax_rows.hpp"

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
