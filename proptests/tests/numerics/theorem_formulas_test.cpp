// The constants that Coq prints (theorem_constants.hpp) are those of the code. The bounds of rounding.hpp are Coq's own
// text; StatedBounds compares them with docs/tolerances.md.
#include <gtest/gtest.h>

#include "numerics/enclosures/decision.hpp"
#include "proptests/tests/numerics/theorem_constants.hpp"
#include "theory/adaptive_temperature.hpp"

namespace softcheck::numerics {
namespace {

TEST(TheoremFormulas, TheConstantsOfAdaptiveTemperatureAreProved) {
  ASSERT_EQ(theory::published_quartic.size(), theorems::quartic_thousandths.size());
  for (std::size_t i = 0; i < theorems::quartic_thousandths.size(); ++i) {
    EXPECT_EQ(theory::published_quartic[i], theorems::quartic_thousandths[i]);
  }
  const PrecisionScope precision(128);
  const auto decimal = [](long long digits, const char* unit) { return Enclosure(digits) * Enclosure::decimal(unit); };
  const auto same = [](const char* text, const Enclosure& value) { return Enclosure::decimal(text).overlaps(value); };
  EXPECT_TRUE(same(theory::largest_beta, decimal(theorems::largest_beta_digits, "1e-5")));
  EXPECT_TRUE(same(theory::inactive_from, decimal(theorems::inactive_from_digits, "1e-5")));
  EXPECT_TRUE(same(theory::lipschitz_constant, decimal(theorems::lipschitz_digits, "1e-5")));
  // The proved digits are off by one in the last place at most.
  const theory::ActiveInterval interval = theory::active_interval();
  const auto near = [&](const Enclosure& value, long long digits, const char* unit) {
    return less_equal(abs(value - decimal(digits, unit)), Enclosure::decimal(unit)) == Decision::proved;
  };
  EXPECT_TRUE(near(interval.first, theorems::first_root_digits, "1e-18"));
  EXPECT_TRUE(near(interval.last, theorems::last_root_digits, "1e-18"));
  EXPECT_TRUE(near(interval.at_maximum, theorems::top_digits, "1e-14"));
  EXPECT_TRUE(near(interval.maximum, theorems::maximum_digits, "1e-14"));
  EXPECT_FALSE(near(interval.first, theorems::first_root_digits + 3, "1e-18"));
}

}  // namespace
}  // namespace softcheck::numerics
