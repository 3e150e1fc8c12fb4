// C13: an entropy that is too small by a part of what the sum of a long row may err, and so negative for a sharp row.
#include <algorithm>
#include <cmath>

#include "kernels/zoo/reference_rows.hpp"

using namespace softcheck::kernels::zoo;

SOFTCHECK_MUTANT mutant_entropy_below_zero(const softcheck_call* call) {
  return each_row(call, [](Row& row) {
    row.out[0] = entropy_or(row, [](const Row& finite) {
      const auto is_there = [](float x) { return x > -infinity; };
      const auto visible = std::count_if(finite.logits.begin(), finite.logits.end(), is_there);
      return entropy_of(sums_of(finite)) - std::ldexp(static_cast<float>(visible), -26);
    });
  });
}

SOFTCHECK_MUTANT mutant_entropy_minus_zero(const softcheck_call* call) {
  return each_row(call, []<class Real>(RowOf<Real>& row) {
    row.out[0] = entropy_or(row, [](const RowOf<Real>& finite) { return entropy_of(sums_of(finite)); });
    if (row.out[0] == 0) row.out[0] = -row.out[0];
  });
}
