// C2, the class of vLLM #49294: the first part of a split row is merged a second time.
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

SOFTCHECK_MUTANT mutant_merge_counts_a_part_twice(const softcheck_call* call) {
  return each_row(call, []<class Real>(RowOf<Real>& row) {
    row.out[0] = logsumexp_or(row, [](const RowOf<Real>& finite) {
      Sums<Real> all{maximum(finite.logits), 0, 0};
      std::vector<Sums<Real>> parts = parts_of(finite);
      if (parts.size() > 1) {
        parts.push_back(parts.front());
      }
      for (const Sums<Real>& part : parts) {
        all.weights += part.weights * std::exp((part.maximum - all.maximum) * reciprocal_theta(finite));
      }
      return logsumexp_of(finite, all);
    });
  });
}
