#include "theory/entropy_bounds.hpp"

#include <rapidcheck.h>

#include "proptests/mutants/planted.hpp"
#include "proptests/properties/properties.hpp"
#include "theory/tempered_row.hpp"

namespace softcheck::proptests {
namespace {

using numerics::certify_less_equal;
using numerics::Enclosure;
using numerics::Sides;
using theory::TemperedRow;

using Bound = std::function<Enclosure(const TemperedRow&)>;

RowCheck entropy_at_least(const std::string& claim, const Bound& bound) {
  return decided_only([=](const RowCase& row_case) {
    const theory::LevelRow levels = levels_of(row_case);
    return Certificates{certify_less_equal(claim, theory::witness_text(levels, row_case.theta), [&] {
      const TemperedRow row(levels, 1 / Enclosure(row_case.theta));
      return Sides{bound(row), row.entropy()};
    })};
  });
}

RowCheck entropy_at_most(const Bound& bound) {
  return decided_only([=](const RowCase& row_case) {
    const theory::LevelRow levels = levels_of(row_case);
    return Certificates{certify_less_equal("entropy_bounds.ceiling", theory::witness_text(levels, row_case.theta), [&] {
      const TemperedRow row(levels, 1 / Enclosure(row_case.theta));
      return Sides{row.entropy(), bound(row)};
    })};
  });
}

// The entropy with one item at the maximum and all others at the minimum, as if that were always the least.
Certificates one_item_at_the_maximum(const RowCase& row_case) {
  const theory::LevelRow levels = levels_of(row_case);
  const std::uint64_t n = levels.visible();
  if (n == 1) return {};
  const RowCheck check = entropy_at_least("entropy_bounds.sharp_floor", [n](const TemperedRow& row) {
    return theory::two_level_entropy<Enclosure>(n, 1, row.spread());
  });
  return check(row_case);
}

// Half of the items at the maximum: correct only for small spreads.
Certificates half_at_the_maximum(const RowCase& row_case) {
  const theory::LevelRow levels = levels_of(row_case);
  const std::uint64_t n = levels.visible();
  if (n == 1) return {};
  const RowCheck check = entropy_at_least("entropy_bounds.sharp_floor", [n](const TemperedRow& row) {
    return theory::two_level_entropy<Enclosure>(n, n / 2, row.spread());
  });
  return check(row_case);
}

}  // namespace

std::vector<PlantedVersion> entropy_bounds_planted() {
  const auto sixteenth = [](const TemperedRow& row) { return log(row.items()) - square(row.spread()) / 16; };
  const auto others = [](const TemperedRow& row) { return log1p(row.items() - 2); };
  const auto log_sum = [](const TemperedRow& row) { return row.log_sum(); };
  return {{"takes delta^2/16 for delta^2/8",
           entropy_lies_between_floor_and_ceiling(entropy_at_least("entropy_bounds.floor", sixteenth))},
          {"leaves one item out of the ceiling", entropy_lies_between_floor_and_ceiling(entropy_at_most(others))},
          {"takes ln S for the entropy", entropy_lies_between_floor_and_ceiling(entropy_at_most(log_sum))},
          {"puts one item at the maximum, k = 1 alone", no_entropy_is_below_the_sharp_floor(one_item_at_the_maximum)},
          {"puts half of the items at the maximum", no_entropy_is_below_the_sharp_floor(half_at_the_maximum)}};
}

}  // namespace softcheck::proptests
