#include "theory/corollary_b_1.hpp"

#include <gtest/gtest.h>

#include <stdexcept>

#include "theory/theorem_2_2.hpp"

namespace softcheck::theory {
namespace {

using numerics::Enclosure;
using numerics::Format;
using numerics::Verdict;

TEST(CorollaryB1, KnownLengths) {
  // Equal logits: 1/n < 2^-24 from 2^24 + 1 on, 1/n < 2^-8 from 257 on.
  EXPECT_EQ(as_integer(smallest_vanishing_length({Format::f32, 0, 1, 1, 0})), 16777217U);
  EXPECT_EQ(as_integer(smallest_vanishing_length({Format::bf16, 0, 1, 1, 0})), 257U);
  // |f(a) - f(b)| = 1, ulp(1) = 2^-7 in bf16: 1/n < 2^-9 from 513 on.
  EXPECT_EQ(as_integer(smallest_collapsing_length({Format::bf16, 0, 1, 2, 1})), 513U);
}

// The other route: round both ends of the exact output by bits.
bool rounds_to_other(const CollapseCase& input, std::uint64_t n) {
  const numerics::PrecisionScope scope(113);
  const Enclosure alpha = leading_coefficient(Enclosure::integer(n), Enclosure(input.spread), Enclosure(input.theta));
  const Enclosure output = alpha * Enclosure(input.first) + (Enclosure(1) - alpha) * Enclosure(input.other);
  return numerics::round_to(input.format, output.lower_double()) == input.other &&
         numerics::round_to(input.format, output.upper_double()) == input.other;
}

TEST(CorollaryB1, FromItsLengthOnTheFormatReturnsTheOtherValue) {
  // At a power of two the spacing below is half: towards zero a quarter of ulp is needed, away from it half would do.
  for (const CollapseCase& input :
       {CollapseCase{Format::bf16, 3, 1, 0.5, 1}, CollapseCase{Format::bf16, 3, 1, 2, 1},
        CollapseCase{Format::f16, 1.25, 0.5, -3, 1.5}, CollapseCase{Format::f16, 2, 1, 1, 0x1p-14},
        CollapseCase{Format::e4m3, 1, 1, -448, 448}, CollapseCase{Format::e5m2, 4, 1, 1, -1}}) {
    const auto n = as_integer(smallest_collapsing_length(input));
    ASSERT_TRUE(n.has_value());
    for (std::uint64_t further = 0; further < 100; ++further) EXPECT_TRUE(rounds_to_other(input, *n + further));
  }
  // Towards zero from a power of two it is the smallest up to a tie, which rounds to the even 1.
  const CollapseCase towards_zero{Format::bf16, 3, 1, 0.5, 1};
  EXPECT_FALSE(rounds_to_other(towards_zero, *as_integer(smallest_collapsing_length(towards_zero)) - 1));
}

TEST(CorollaryB1, EveryFormatErrsOnItsConcreteInput) {
  for (Format format : numerics::all_formats()) {
    for (const auto& certificate : check_corollary_b_1({format, 2.5, 1, 1.5, 1})) {
      EXPECT_EQ(certificate.verdict, Verdict::proved) << certificate.claim << " " << certificate.witness;
    }
  }
}

TEST(CorollaryB1, NumbersFurtherApartThanAnyPrecisionAreDecided) {
  // |f(a) - f(b)| = 1 - 2^-1022 has 1022 bits; towards zero from a power of two it is all but a tie.
  for (const auto& certificate : check_corollary_b_1({Format::f64, 0, 1, 0x1p-1022, 1})) {
    EXPECT_EQ(certificate.verdict, Verdict::proved) << certificate.claim << " " << certificate.witness;
  }
}

TEST(CorollaryB1, RefusesWhatIsNoCase) {
  EXPECT_THROW(check_corollary_b_1({Format::f16, 1, 1, 1, 1}), std::invalid_argument);
  EXPECT_THROW(check_corollary_b_1({Format::f16, 1, 1, 0.1, 1}), std::invalid_argument);
  EXPECT_THROW(check_corollary_b_1({Format::f16, 1, 0, 2, 1}), std::invalid_argument);
  EXPECT_THROW(check_corollary_b_1({Format::f16, 201, 1, 2, 1}), std::invalid_argument);
  EXPECT_THROW(smallest_collapsing_length({Format::f64, 1, 1, 1, 0}), std::invalid_argument);
}

TEST(CorollaryB1, TheConcreteRowIsOneLogitAboveAllOthers) {
  EXPECT_EQ(collapse_row(2.5, 3), (std::vector<double>{2.5, 0, 0}));
  EXPECT_TRUE(collapse_row(2.5, 0).empty());
}

}  // namespace
}  // namespace softcheck::theory
