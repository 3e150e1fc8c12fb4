// C2: parts (m, S, T) are merged by T <- a T where a (T + d S) is due.
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

SOFTCHECK_MUTANT mutant_merge_forgets_deviation(const softcheck_call* call) {
  return each_row(call, []<class Real>(RowOf<Real>& row) {
    row.out[0] = entropy_or(row, [](const RowOf<Real>& finite) {
      Sums<Real> all{maximum(finite.logits), 0, 0};
      for (const Sums<Real>& part : parts_of(finite)) {
        const Real a = std::exp((part.maximum - all.maximum) * reciprocal_theta(finite));
        all.weights += a * part.weights;
        all.deviations += a * part.deviations;
      }
      return entropy_of(all);
    });
  });
}
