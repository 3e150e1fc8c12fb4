#include "theory/differential_attention.hpp"

#include <rapidcheck.h>

#include "proptests/mutants/planted.hpp"
#include "proptests/properties/properties.hpp"
#include "theory/lemma_2_1.hpp"

namespace softcheck::proptests {
namespace {

using numerics::certify_less_equal;
using numerics::Enclosure;
using numerics::Sides;

// No coefficient is below 0, as a softmax's are not.
RowCheck no_coefficient_is_negative() {
  return decided_only([](const RowCase& row_case) {
    const theory::LevelRow row = levels_of(row_case);
    return Certificates{certify_less_equal("differential_attention.bounds", to_text(row_case), [&] {
      const Enclosure least = theory::sharp_sides(row, 1).lower.right;
      const Enclosure most = theory::sharp_sides(row.mirrored(), 1).upper.left;
      return Sides{Enclosure(0), least - most};
    })};
  });
}

// Shares are at most e^d (1 + lambda) / n: without the distance of lambda from 1.
RowCheck shares_forget_the_sum() {
  return decided_only([](const RowCase& row_case) {
    Certificates all = theory::certify_differential_share(levels_of(row_case), 0x1.fffffffffffffp-1);
    for (auto& one : all) {
      one = certify_less_equal(one.claim, one.witness, [sides = one] {
        return Sides{sides.left, sides.right * Enclosure(0x1p-53)};
      });
    }
    return all;
  });
}

// A share is at most 2 e^t / n for lambda = 1, too.
RowCheck half_disperses() {
  return decided_only([](const RowCase& row_case) {
    const std::uint64_t items = levels_of(row_case).visible();
    if (items < 2) return Certificates{};
    Certificates all = theory::certify_differential_half(items - 1, row_case.theta);
    for (auto& one : all) {
      one = certify_less_equal(one.claim, one.witness, [&, share = one.left] {
        return Sides{share, 2 * exp(Enclosure(row_case.theta)) / Enclosure::integer(items)};
      });
    }
    return all;
  });
}

}  // namespace

std::vector<PlantedVersion> differential_attention_planted() {
  return {{"lets no coefficient be negative", differences_lie_within_bounds(no_coefficient_is_negative())},
          {"forgets the sum of the coefficients", shares_disperse(shares_forget_the_sum())},
          {"lets a share disperse where lambda is 1", a_single_gain_keeps_half(half_disperses())}};
}

}  // namespace softcheck::proptests
