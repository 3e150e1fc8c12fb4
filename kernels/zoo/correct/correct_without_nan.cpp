// Right in all that it answers; a call with a visible NaN is refused, so that nothing tells what it makes of one.
#include <algorithm>
#include <cmath>
#include <optional>

#include "kernels/zoo/reference_rows.hpp"

using namespace softcheck::kernels::zoo;

SOFTCHECK_MUTANT correct_without_nan(const softcheck_call* call) {
  const std::optional<Matrices> matrices = matrices_of(*call);
  if (!matrices) {
    return 1;
  }
  bool seen = false;
  const int status = each_row(*matrices, [&](auto& row) {
    seen = seen || std::ranges::any_of(row.logits, [](auto x) { return std::isnan(x); });
    softmax(row);
  });
  return seen ? 1 : status;
}
