#include "theory/attention_variants.hpp"

#include <rapidcheck.h>

#include "proptests/mutants/planted.hpp"
#include "proptests/properties/properties.hpp"
#include "theory/entropy_bounds.hpp"
#include "theory/tempered_row.hpp"

namespace softcheck::proptests {
namespace {

using numerics::certify_less;
using numerics::certify_less_equal;
using numerics::Enclosure;
using numerics::Sides;
using theory::LevelRow;
using theory::TemperedRow;

LevelRow with_sink_item(const LevelRow& row, double sink) {
  std::vector<theory::Level> levels(row.levels().begin(), row.levels().end());
  levels.push_back({sink, 1});
  return LevelRow(std::move(levels));
}

Enclosure spread_of_items(const LevelRow& row, double theta) {
  return theory::difference(row.largest(), row.smallest()) / Enclosure(theta);
}

// W + 1 items are visible: the window's W, and the query's own.
RowCheck window_without_itself() {
  return decided_only([](const RowCase& row_case) {
    const LevelRow row = levels_of(row_case);
    if (row.visible() < 2) return Certificates{};
    return Certificates{certify_less_equal("attention_variants.window", to_text(row_case), [&] {
      const TemperedRow tempered(row, 1 / Enclosure(row_case.theta));
      return Sides{theory::window_coefficient(row.visible() - 1, tempered.spread()),
                   tempered.coefficient(tempered.levels() - 1)};
    })};
  });
}

// Any two sides, for a row and each of its sinks.
RowCheck at_every_sink(const std::string& claim, const std::function<Sides(const LevelRow&, double, double)>& sides) {
  return decided_only([=](const RowCase& row_case) {
    Certificates all;
    for (const double sink : sinks_of(row_case)) {
      all.push_back(certify_less_equal(claim, to_text(row_case),
                                       [&] { return sides(levels_of(row_case), row_case.theta, sink); }));
    }
    return all;
  });
}

// The items' coefficients as if the sink had none.
Sides kept_by_items(const LevelRow& row, double theta, double sink) {
  const TemperedRow alone(row, 1 / Enclosure(theta)), with_sink(with_sink_item(row, sink), 1 / Enclosure(theta));
  const std::size_t first = sink > row.largest() ? 1 : 0;
  return {alone.coefficient(0), with_sink.coefficient(first)};
}

Enclosure simple_floor(std::uint64_t n, const Enclosure& exponent) {
  return log(theory::count_as<Enclosure>(n)) - minimum(exponent, square(exponent) / 8);
}

Sides entropy_with_spread_of_items(const LevelRow& row, double theta, double sink) {
  const TemperedRow tempered(with_sink_item(row, sink), 1 / Enclosure(theta));
  return {simple_floor(row.visible() + 1, spread_of_items(row, theta)), tempered.entropy()};
}

// -sum alpha ln alpha over the items only, whose coefficients do not sum to 1.
Sides entropy_of_items(const LevelRow& row, double theta, double sink) {
  const LevelRow extended = with_sink_item(row, sink);
  const TemperedRow tempered(extended, 1 / Enclosure(theta));
  std::size_t at = 0;
  while (extended.levels()[at].logit != sink) ++at;
  const Enclosure share = tempered.coefficient(at);
  const Enclosure exponent =
      theory::sink_spread(Enclosure(row.smallest()), Enclosure(row.largest()), Enclosure(sink)) / Enclosure(theta);
  return {simple_floor(row.visible() + 1, exponent), tempered.entropy() + share * log(share)};
}

// Takes N(2 eps) for eps, although a low sink takes less than half of the weight.
RowCheck half_to_the_sink() {
  return decided_only([](const RowCase& row_case) {
    const LevelRow row = levels_of(row_case);
    const theory::Spread spread{row.largest(), row.smallest(), row_case.theta};
    const auto items = theory::dispersion_length(spread, 0.5).items;
    if (!items) return Certificates{};
    const LevelRow sharpest({{spread.largest, 1}, {spread.smallest, *items}});
    return Certificates{certify_less("attention_variants.sink_dispersion_length", to_text(row_case), [&] {
      const TemperedRow tempered(with_sink_item(sharpest, sinks_of(row_case).back()), 1 / Enclosure(spread.theta));
      return Sides{tempered.coefficient(0), Enclosure(0.25)};
    })};
  });
}

RowCheck caps(const std::function<Sides(double high, double low, double cap)>& sides, const std::string& claim) {
  return decided_only([=](const RowCase& row_case) {
    const LevelRow row = levels_of(row_case);
    return Certificates{certify_less_equal(claim, to_text(row_case),
                                           [&] { return sides(row.largest(), row.smallest(), row_case.theta); })};
  });
}

Sides half_the_spread(double high, double low, double cap) {
  const Enclosure c(cap);
  return {abs(theory::softcapped_logit(c, Enclosure(high))),
          theory::softcapped_logit(c, theory::difference(high, low) / Enclosure(2))};
}

// A centred row, high and -high, has the largest spread.
Sides spread_in_one_tanh(double high, double, double cap) {
  const Enclosure c(cap), x = abs(Enclosure(high));
  return {theory::softcapped_logit(c, x) - theory::softcapped_logit(c, -x), theory::softcapped_logit(c, 2 * x)};
}

}  // namespace

std::vector<PlantedVersion> attention_variants_planted() {
  return {
      {"forgets the query's own item in the window", windows_keep_coefficients_up(window_without_itself())},
      {"lets the items keep their coefficients",
       sinks_take_from_the_items(at_every_sink("attention_variants.sink_coefficient", kept_by_items))},
      {"lets the sink take half of every coefficient", sinks_take_from_the_items(half_to_the_sink())},
      {"leaves the sink out of the spread",
       sinks_count_as_items(at_every_sink("attention_variants.sink_entropy_floor", entropy_with_spread_of_items))},
      {"leaves the sink's coefficient out of the entropy",
       sinks_count_as_items(at_every_sink("attention_variants.sink_entropy_floor", entropy_of_items))},
      {"takes half the spread for the largest logit",
       caps_bound_logits(caps(half_the_spread, "attention_variants.softcap_logit"))},
      {"caps the spread as if it were a logit",
       caps_bound_logits(caps(spread_in_one_tanh, "attention_variants.softcap_spread"))},
  };
}

}  // namespace softcheck::proptests
