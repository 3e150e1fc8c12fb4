#include "theory/lemma_2_1.hpp"

#include <rapidcheck.h>

#include "proptests/mutants/planted.hpp"
#include "proptests/properties/properties.hpp"
#include "theory/tempered_row.hpp"

namespace softcheck::proptests {
namespace {

using numerics::certify_less;
using numerics::certify_less_equal;
using numerics::Enclosure;
using numerics::Sides;
using theory::TemperedRow;

using CoefficientBound = std::function<Enclosure(const TemperedRow&, double theta)>;

// Compares the largest coefficient with any upper bound.
RowCheck largest_at_most(const std::string& claim, const CoefficientBound& bound) {
  return decided_only([=](const RowCase& row_case) {
    const theory::LevelRow levels = levels_of(row_case);
    return Certificates{certify_less_equal(claim, theory::witness_text(levels, row_case.theta), [&] {
      const TemperedRow row(levels, 1 / Enclosure(row_case.theta));
      return Sides{row.coefficient(0), bound(row, row_case.theta)};
    })};
  });
}

RowCheck smallest_at_least(const std::string& claim, const CoefficientBound& bound) {
  return decided_only([=](const RowCase& row_case) {
    const theory::LevelRow levels = levels_of(row_case);
    return Certificates{certify_less_equal(claim, theory::witness_text(levels, row_case.theta), [&] {
      const TemperedRow row(levels, 1 / Enclosure(row_case.theta));
      return Sides{bound(row, row_case.theta), row.coefficient(row.levels() - 1)};
    })};
  });
}

// The paper's upper bound, as if a row attained it.
Certificates paper_bound_attained(const RowCase& row_case) {
  const theory::LevelRow levels = levels_of(row_case);
  return {certify("lemma_2_1.attained", theory::witness_text(levels, row_case.theta), numerics::Relation::equal, [&] {
    const theory::Spread spread{levels.largest(), levels.smallest(), row_case.theta};
    const auto sharp = theory::lemma_2_1_sharp_bounds(levels.visible(), spread.exponent());
    return Sides{sharp.upper, theory::lemma_2_1_bounds(levels.visible(), spread.exponent()).upper};
  })};
}

// The coefficient among n + 1 items of the row's spread must be below 1/2, where `length` computes n in place of
// N(1/2).
RowCheck vanishes_beyond(const std::function<std::optional<std::uint64_t>(const theory::Spread&)>& length) {
  return [=](const RowCase& row_case) -> Certificates {
    const theory::LevelRow levels = levels_of(row_case);
    const theory::Spread spread{levels.largest(), levels.smallest(), row_case.theta};
    const auto n = length(spread);
    if (!n) return {};
    return {certify_less("lemma_2_1.dispersion_length", theory::witness_text(levels, row_case.theta), [&] {
      return Sides{theory::lemma_2_1_sharp_bounds(*n + 1, spread.exponent()).upper, Enclosure(0.5)};
    })};
  };
}

}  // namespace

std::vector<PlantedVersion> lemma_2_1_planted() {
  const auto half_spread = [](const TemperedRow& row, double) { return exp(row.spread() / 2) / row.items(); };
  const auto without_theta = [](const TemperedRow& row, double theta) {
    return exp(row.spread() * Enclosure(theta)) / row.items();
  };
  const auto one_item_more = [](const TemperedRow& row, double) { return 1 / (1 + row.items() * exp(-row.spread())); };
  const auto mean_for_a_floor = [](const TemperedRow& row, double) { return 1 / row.items(); };
  return {{"halves the spread", coefficients_lie_within_bounds(largest_at_most("lemma_2_1.upper", half_spread))},
          {"forgets theta", coefficients_lie_within_bounds(largest_at_most("lemma_2_1.upper", without_theta))},
          {"counts the item among the others",
           coefficients_lie_within_bounds(largest_at_most("lemma_2_1.sharp_upper", one_item_more))},
          {"takes the mean coefficient for the least",
           coefficients_lie_within_bounds(smallest_at_least("lemma_2_1.lower", mean_for_a_floor))},
          {"takes the paper's bound for a sharp one", sharp_bounds_are_attained(paper_bound_attained)},
          {"forgets theta in the dispersion length",
           coefficients_vanish_beyond_the_dispersion_length(vanishes_beyond([](const theory::Spread& spread) {
             return theory::dispersion_length({spread.largest, spread.smallest, 1}, 0.5).items;
           }))},
          {"forgets the item itself in the dispersion length",
           coefficients_vanish_beyond_the_dispersion_length(vanishes_beyond([](const theory::Spread& spread) {
             auto length = theory::dispersion_length(spread, 0.5).items;
             if (length) *length -= 2;  // floor(e^delta) - 1 instead of floor(1 + e^delta)
             return length;
           }))}};
}

}  // namespace softcheck::proptests
