// The statistics of scores by tensor cores against those in double.
#include "kernels/bench/gpu/correctness.hpp"
#include "kernels/bench/gpu/narrow_scores.hpp"

namespace softcheck::kernels::gpu {
namespace {

struct Interval {
  double value, error;
};

/// m, S - 1, T and U of a row. Every score may be off by e: D = m - x by 2 e, its weight by the factor exp(2 e). A lane
/// adds its keys, four at a time, into compensated sums, and four lanes merge: of sum w D^k each weight has 2 u of its
/// exponential, u D of its argument and 2 k u of the products, a group's sum 2 u, a rescaling (4 + 3 k) u, the result
/// u.
std::vector<Interval> statistics_of(const NarrowScores& row) {
  const double m = row.largest(), e = row.largest_error();
  const double rises = std::ceil(static_cast<double>(row.x.size()) / keys_of_tile) * 2 + 2;  // groups of a lane; lanes
  double moments[4] = {}, widest = 0;
  for (const double x : row.x) {
    double term = std::exp(x - m);
    for (double& moment : moments) {
      moment += term;
      term *= m - x;
    }
    widest = std::max(widest, m - x);
  }
  const double stretch = std::exp(2 * e), d = 2 * e;
  const double grown[] = {0, d * moments[0], 2 * d * moments[1] + d * d * moments[0],
                          3 * d * moments[2] + 3 * d * d * moments[1] + d * d * d * moments[0]};
  const auto moved = [&](int k) { return (stretch - 1) * moments[k] + stretch * grown[k]; };
  std::vector<Interval> all = {{m, e}};
  for (int k = 0; k < 3; ++k) {
    // Of the moved sums, every factor 1 + u multiplied out: no order is left out.
    const double roundings = u * (5 + 2 * k + rises * (4 + 3 * k));
    const double rounded = std::expm1(roundings) * (moments[k] + moved(k)) +
                           std::exp(roundings + u * (widest + d)) * u * (moments[k + 1] + moved(k + 1));
    all.push_back({k == 0 ? moments[0] - 1 : moments[k], moved(k) + rounded});
  }
  return all;
}

Comparison compared(const Kernels& kernels, Format format, const NarrowProblem& p) {
  Comparison found{kernels.name, to_string(format), kernels.reference_name, text_of(p), false, {}};
  HostTensor q(format, {1, p.heads, p.queries, p.dim}), k(format, {1, p.heads, p.keys, p.dim});
  fill_normal(q, 1, 1);
  fill_normal(k, 1, 2);
  std::vector<HostTensor> got(4, HostTensor(Format::f32, {1, p.heads, p.queries}));
  if (call_kernel(kernels.judged, {&q, &k}, {&got[0], &got[1], &got[2], &got[3]}, 1, p.scale, p.causal) != 0) {
    found.detail = "refused";
    return found;
  }
  double used = 0;
  bool says_something = true;
  for (std::int64_t head = 0; head < p.heads; ++head) {
    for (std::int64_t query = 0; query < p.queries; ++query) {
      const std::vector<Interval> exact = statistics_of(scores_of(p, q, k, head, query));
      for (std::size_t i = 0; i < 4; ++i) {
        const double value = got[i].at(static_cast<std::size_t>(head * p.queries + query));
        const double part = std::abs(value - exact[i].value) / exact[i].error;
        used = part <= used ? used : part;  // a NaN stays
        // m may be near 0; sums are not.
        says_something = says_something && (i == 0 || exact[i].error < exact[i].value);
      }
    }
  }
  std::ostringstream detail;
  detail << used << " of the bound";
  if (!says_something) detail << ", which is as wide as the results";
  found.detail = detail.str();
  found.holds = used <= 1 && says_something;
  return found;
}

}  // namespace

void compare_narrow_statistics(const Kernels& kernels, std::vector<Comparison>& found) {
  for (const Format format : {Format::f16, Format::bf16}) {
    for (const NarrowProblem& p : narrow_problems) found.push_back(compared(kernels, format, p));
  }
}

}  // namespace softcheck::kernels::gpu
