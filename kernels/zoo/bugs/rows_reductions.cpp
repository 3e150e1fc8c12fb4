// Bugs of rows: reductions.
#include <array>
#include <numeric>

#include "kernels/zoo/numbered_rows.hpp"

using namespace softcheck::kernels::zoo;

// C9: columns from 65,536 on are added by a second kernel, which skips terms below e^-12.
// @judged logsumexp f64: plain; fail C9; FarItemsCountTogether; witness >=65537; effort default
// @judged softmax f32: plain; fail C9; FarItemsCountTogether; witness >=65537; effort default
BUG(mutant_far_terms_of_long_rows_skipped, changed_rows, softmax_or_logsumexp_row) {
  const auto m = maximum(row.logits);
  for (std::size_t i = 65536; i < row.logits.size(); ++i) {
    if ((m - row.logits[i]) / row.theta > 12) row.logits[i] = -infinity;
  }
}

// C9, KarhouTam/cuda-kernels #1: every lane sums under its own running maximum, and the sums are added without
// rescaling.
// @judged softmax f32: plain; fail C9
BUG(mutant_lanes_summed_under_different_maxima, each_row) {
  constexpr std::size_t lanes = 8;
  std::array<Real, lanes> m;
  m.fill(-infinity);
  std::array<Real, lanes> sum{};
  for (std::size_t i = 0; i < row.logits.size(); ++i) {
    const Real x = row.logits[i];
    const std::size_t lane = i % lanes;
    if (x > m[lane]) {
      sum[lane] *= std::exp((m[lane] - x) * reciprocal_theta(row));
      m[lane] = x;
    }
    sum[lane] += x > -infinity || std::isnan(x) ? std::exp((x - m[lane]) * reciprocal_theta(row)) : 0;
  }
  weights(row, maximum(row.logits), row.out);
  divide(row.out, std::accumulate(sum.begin(), sum.end(), Real(0)));
}

// C9, warp-ctc PR #30: the maximum is taken over the first 64 logits only, as many as there are threads;
// a late peak overflows.
// @judged softmax f32: plain; fail C9; witness 65
BUG(mutant_max_of_first_block_only, each_row) {
  const auto head = static_cast<std::ptrdiff_t>(std::min<std::size_t>(row.logits.size(), 64));
  const Real m = maximum(std::vector<Real>(row.logits.begin(), row.logits.begin() + head));
  divide(row.out, weights(row, m, row.out));
}

// C9, rvllm PR #1: a tree halves its width at each level; at an odd one the last sum is lost.
// @judged softmax f32 f64: plain; fail C9; EveryWidthIsComputed; witness 3
BUG(mutant_tree_drops_odd_item, softmax_by_sum) {
  std::vector<Real> partial = row.out;
  for (std::size_t width = partial.size(); width > 1; width /= 2) {
    for (std::size_t i = 0; i < width / 2; ++i) partial[i] += partial[i + width / 2];
  }
  return partial.empty() ? Real(1) : partial[0];
}
