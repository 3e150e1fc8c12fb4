#include "theory/adaptive_temperature.hpp"

#include <rapidcheck.h>

#include <algorithm>

#include "proptests/mutants/planted.hpp"
#include "proptests/properties/properties.hpp"
#include "theory/lemma_2_1.hpp"
#include "theory/tempered_row.hpp"

namespace softcheck::proptests {
namespace {

using numerics::certify_less_equal;
using numerics::Enclosure;
using numerics::Sides;
using theory::QuarticThousandths;
using theory::TemperedRow;

// The coefficients in ascending order, as a public port passes them to a function that expects descending ones: active
// on (0.91856, 2.14702), maximum 3.3326.
constexpr QuarticThousandths ascending{-37, 481, -2300, 4917, -1791};

Certificates facts_of_ascending(const RowCase& row_case) {
  Certificates all = theory::certify_quartic(ascending);
  append(all, theory::certify_beta(levels_of(row_case), row_case.theta, ascending));
  return all;
}

using AdaptiveSides = std::function<Sides(const theory::LevelRow&, const TemperedRow&, const Enclosure& value)>;

// A claim about softmax(e / theta) and P(H).
RowCheck claim_of_beta(const std::string& claim, const AdaptiveSides& sides) {
  return decided_only([=](const RowCase& row_case) {
    const theory::LevelRow levels = levels_of(row_case);
    return Certificates{certify_less_equal(claim, theory::witness_text(levels, row_case.theta), [&] {
      const TemperedRow row(levels, 1 / Enclosure(row_case.theta));
      return sides(levels, row, theory::quartic(row.entropy()));
    })};
  });
}

// Without max(., 1), small entropies flatten the row.
Certificates without_maximum(const RowCase& row_case) {
  const theory::LevelRow levels = levels_of(row_case);
  return {certify_less_equal(
      "adaptive_temperature.never_increases_entropy", theory::witness_text(levels, row_case.theta), [&] {
        const Enclosure inverse = 1 / Enclosure(row_case.theta);
        const Enclosure before = TemperedRow(levels, inverse).entropy();
        const Enclosure beta = theory::quartic(before);
        // P < 0 reverses the row.
        if (beta.certainly_negative()) {
          return Sides{TemperedRow(levels.mirrored(), -(inverse * beta)).entropy(), before};
        }
        return Sides{TemperedRow(levels, inverse * maximum(beta, Enclosure(0))).entropy(), before};
      })};
}

}  // namespace

std::vector<PlantedVersion> adaptive_temperature_planted() {
  const auto guard_at_two = [](const theory::LevelRow&, const TemperedRow& row, const Enclosure& value) {
    const bool below = numerics::less_equal(row.entropy(), Enclosure(2)) == numerics::Decision::proved;
    const Enclosure beta = maximum(value, Enclosure(1));
    return Sides{beta, below ? Enclosure(1) : beta, below ? std::optional(1 - beta) : std::optional(Enclosure(0))};
  };
  const auto beta_at_most_two = [](const auto&, const auto&, const Enclosure& value) {
    return Sides{maximum(value, Enclosure(1)), Enclosure(2)};
  };
  const auto plain_lemma = [](const theory::LevelRow& levels, const TemperedRow& row, const Enclosure& value) {
    if (levels.all_equal()) return Sides{row.coefficient(0), row.coefficient(0)};
    const Enclosure inverse_theta = row.spread() / theory::difference(levels.largest(), levels.smallest());
    const TemperedRow sharpened(levels, inverse_theta * maximum(value, Enclosure(1)));
    return Sides{sharpened.coefficient(0), theory::lemma_2_1_sharp_bounds(levels.visible(), row.spread()).upper};
  };
  const auto always_plain = [](const auto&, const auto&, const Enclosure& value) { return Sides{value, Enclosure(1)}; };
  const auto gap = [](const theory::LevelRow& levels, const TemperedRow& row) {
    Enclosure sum;
    for (std::size_t j = 0; j < levels.levels().size(); ++j) {
      const Enclosure p = row.coefficient(j), epsilon = Enclosure::decimal("1e-9");
      if (p.certainly_positive()) sum += row.count(j) * p * log1p(epsilon / p);
    }
    return sum;
  };
  const auto without_n = [gap](const theory::LevelRow& levels, const TemperedRow& row, const auto&) {
    return Sides{gap(levels, row), Enclosure::decimal("1e-9")};
  };
  const auto other_sign = [gap](const theory::LevelRow& levels, const TemperedRow& row, const auto&) {
    return Sides{gap(levels, row), Enclosure(0)};
  };
  const std::string claim = "adaptive_temperature.";
  return {{"feeds the coefficients in ascending order", beta_is_active_on_its_interval(facts_of_ascending)},
          {"guards at two nats", beta_is_active_on_its_interval(claim_of_beta(claim + "dead_guard", guard_at_two))},
          {"bounds beta by 2", beta_is_active_on_its_interval(claim_of_beta(claim + "range", beta_at_most_two))},
          {"forgets max(., 1)", adaptive_softmax_is_sharper_and_still_disperses(decided_only(without_maximum))},
          {"disperses with the plain spread",
           adaptive_softmax_is_sharper_and_still_disperses(claim_of_beta(claim + "disperses", plain_lemma))},
          {"is the plain softmax for every length",
           adaptive_softmax_is_sharper_and_still_disperses(claim_of_beta(claim + "identity", always_plain))},
          {"forgets n in the gap of the paper's entropy",
           paper_entropy_is_short_by_epsilon_n(claim_of_beta(claim + "epsilon_gap", without_n))},
          {"has the paper's entropy above the exact one",
           paper_entropy_is_short_by_epsilon_n(claim_of_beta(claim + "epsilon_gap", other_sign))}};
}

}  // namespace softcheck::proptests
