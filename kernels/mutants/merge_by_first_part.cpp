// C2, FlashAttention PR #2388: the merge looks for the maximum of every part at the place of the first.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

#include "kernels/mutants/reference_rows.hpp"

using namespace softcheck::kernels::mutants;

namespace {
// (m, S, T) of every 16 logits; parts of nothing but masked items are left out.
template <class Real>
std::vector<Sums<Real>> parts_of(const RowOf<Real>& row) {
  constexpr std::size_t width = 16;
  std::vector<Sums<Real>> parts;
  for (std::size_t i = 0; i < row.logits.size(); i += width) {
    const auto from = row.logits.begin() + static_cast<std::ptrdiff_t>(i);
    const auto count = static_cast<std::ptrdiff_t>(std::min(width, row.logits.size() - i));
    const RowOf<Real> part{std::vector<Real>(from, from + count), row.theta, {}};
    if (maximum(part.logits) > -infinity) {
      parts.push_back(sums_of(part));
    }
  }
  return parts;
}
}  // namespace

SOFTCHECK_MUTANT mutant_merge_by_first_part(const softcheck_call* call) {
  return each_row(call, []<class Real>(RowOf<Real>& row) {
    row.out[0] = logsumexp_or(row, [](const RowOf<Real>& finite) {
      Sums<Real> all{maximum(finite.logits), 0, 0};
      const std::vector<Sums<Real>> parts = parts_of(finite);
      for (const Sums<Real>& part : parts) {
        all.weights += part.weights * std::exp((parts.front().maximum - all.maximum) * reciprocal_theta(finite));
      }
      return logsumexp_of(finite, all);
    });
  });
}
