#include "numerics/enclosures/decision.hpp"

#include <algorithm>

namespace softcheck::numerics {

Decision less_equal(const Enclosure& a, const Enclosure& b) {
  if (a.is_nan() || b.is_nan()) return Decision::undecided;
  if (mpfr_lessequal_p(&a.data()->right, &b.data()->left)) return Decision::proved;
  return mpfr_greater_p(&a.data()->left, &b.data()->right) ? Decision::violated : Decision::undecided;
}

Decision less(const Enclosure& a, const Enclosure& b) {
  if (a.is_nan() || b.is_nan()) return Decision::undecided;
  if (mpfr_less_p(&a.data()->right, &b.data()->left)) return Decision::proved;
  return mpfr_greaterequal_p(&a.data()->left, &b.data()->right) ? Decision::violated : Decision::undecided;
}

Decision equal(const Enclosure& a, const Enclosure& b) {
  if (a.is_nan() || b.is_nan()) return Decision::undecided;
  if (!a.overlaps(b)) return Decision::violated;
  return a.is_point() && b.is_point() ? Decision::proved : Decision::undecided;
}

Decision all_of(std::span<const Decision> decisions) {
  const auto has = [&](Decision which) { return std::ranges::find(decisions, which) != decisions.end(); };
  if (has(Decision::violated)) return Decision::violated;
  return has(Decision::undecided) ? Decision::undecided : Decision::proved;
}

}  // namespace softcheck::numerics
