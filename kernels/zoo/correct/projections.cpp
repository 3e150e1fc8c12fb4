// Correct kernels of sparsemax and entmax-1.5.
#include "kernels/zoo/projection_rows.hpp"

using namespace softcheck::kernels::zoo;

// Sorted halves, up to the first item beyond the root of its own prefix.
// @judged entmax15 f64 f32 f16 bf16: sum=sequential masked=nan; pass
// @judged entmax15 8bits: sum=sequential masked=nan; pass; domain n<=1000
CORRECT(correct_entmax15, each_entmax_row) { row.run(); }

// Correct on short rows: the support is the number of items that are within the root of their own prefix, as entmax
// counts it. Sums beyond the first item that is not do not change the answer, but their rounding errors grow.
// @judged entmax15 f32: sum=sequential masked=nan; pass; domain n<=1000
CORRECT(correct_entmax15_counted, entmax_by_root) {
  EntmaxSums<Real> sums;
  std::size_t support = 0;
  for (const Real value : sorted) {
    sums.add(value);
    if (sums.mean() + std::sqrt(sums.radicand()) >= value) ++support;
  }
  EntmaxSums<Real> again;
  for (std::size_t k = support; k-- > 0;) again.add(sorted[k]);
  return again.root();
}

// The root of k t^2 - 2 S t + Q - 1, times 1 / k; it stops at the first item that has no coefficient.
// @judged entmax15 f32 f64: sum=sequential masked=nan; pass
CORRECT(correct_entmax15_quadratic, entmax_by_root) {
  Real sum = 0, squares = 0, root = row.has_nan(d) ? d[0] - d[0] : 1;
  for (std::size_t k = 0; k < sorted.size(); ++k) {
    const Real count = static_cast<Real>(k + 1);
    if (sorted[k] >= root) break;
    sum += sorted[k];
    squares += sorted[k] * sorted[k];
    root = (sum + std::sqrt(std::max(sum * sum - count * (squares - 1), Real(0)))) * (1 / count);
  }
  return root;
}

// Finds the support as usual, then takes its mean and the mean square of the deviations from it.
// @judged entmax15 f32: sum=sequential masked=nan; pass
CORRECT(correct_entmax15_two_passes, entmax_by_root) {
  EntmaxSums<Real> sums;
  std::size_t support = 0;
  for (; support < sorted.size(); ++support) {
    sums.add(sorted[support]);
    if (!(sorted[support] <= sums.root())) break;
  }
  Real sum = 0, squares = 0;
  for (std::size_t i = 0; i < support; ++i) sum += sorted[i];
  const Real count = static_cast<Real>(support), mean = sum / count;
  for (std::size_t i = 0; i < support; ++i) squares += (sorted[i] - mean) * (sorted[i] - mean);
  return mean + std::sqrt(std::max((1 - squares) / count, Real(0)));
}

// Sorted logits less their maximum, up to the first that does not satisfy the condition.
// @judged sparsemax f64 f32 f16 bf16: sum=sequential masked=nan; pass
// @judged sparsemax 8bits: sum=sequential masked=nan; pass; domain n<=1000
CORRECT(correct_sparsemax, each_sparsemax_row) { row.run(); }

// Correct on short rows: the support is the number of items that satisfy the condition, as entmax counts it. Sums
// beyond the first item that does not satisfy it do not change the answer, but their rounding errors grow.
// @judged sparsemax f32: sum=sequential masked=nan; pass; domain n<=1000
CORRECT(correct_sparsemax_counted, sparsemax_by_threshold) {
  Real sum = 0;
  std::size_t support = 0;
  for (std::size_t k = 0; k < sorted.size(); ++k) {
    sum += sorted[k];
    if (static_cast<Real>(k + 1) * sorted[k] > sum - 1) ++support;
  }
  Real again = 0;
  for (std::size_t k = support; k-- > 0;) again += sorted[k];
  return (again - 1) / static_cast<Real>(support);
}

// Correct on short rows: no sort. Items at or below the threshold of the remaining items are removed until none is. In
// long rows the first sums include items outside the support, and err by more than the distance to the threshold.
// @judged sparsemax f32 f64: sum=sequential masked=nan; pass; domain n<=1000
CORRECT(correct_sparsemax_elimination, sparsemax_by_threshold) {
  std::vector<Real> left;
  for (const Real value : z) {
    if (value > -1) left.push_back(value);
  }
  Real tau = 0;
  for (std::size_t before = 0; before != left.size() && !left.empty();) {
    before = left.size();
    Real sum = 0;
    for (const Real value : left) sum += value;
    tau = (sum - 1) / static_cast<Real>(before);
    left.erase(std::remove_if(left.begin(), left.end(), [tau](Real value) { return value <= tau; }), left.end());
  }
  return tau;
}

// It stops at the first item that has no coefficient; times 1 / k; the largest coefficient less each
// deviation.
// @judged sparsemax f32: sum=sequential masked=nan; pass
CORRECT(correct_sparsemax_reciprocal, sparsemax_by_threshold) {
  Real sum = 0, top = 1;
  for (std::size_t k = 0; k < sorted.size(); ++k) {
    if (-sorted[k] >= top) break;
    sum += sorted[k];
    top = (1 - sum) * (1 / static_cast<Real>(k + 1));
  }
  return -top;
}
