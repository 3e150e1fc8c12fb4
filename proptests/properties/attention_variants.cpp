#include "theory/attention_variants.hpp"

#include <rapidcheck.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "proptests/properties/properties.hpp"

namespace softcheck::proptests {
namespace {

// Every sink is tested: rows of 64 distinct items show as much as longer ones.
RowOptions rows_with_sinks() {
  RowOptions options;
  options.max_literal = 64;
  return options;
}

Certificates caps_of(const RowCase& row_case) {
  const theory::LevelRow row = levels_of(row_case);
  const double cap = row_case.theta, high = row.largest(), low = row.smallest();
  const double largest = std::max(std::abs(high), std::abs(low));
  Certificates all;
  for (const double x : {high, low}) all.push_back(theory::certify_softcap_logit(x, largest, cap));
  // Neighbours, the ends, and a centred pair, which attains the bound of the spread.
  all.push_back(theory::certify_softcap_spread(high, low, cap));
  all.push_back(theory::certify_softcap_spread(largest, -largest, cap));
  const auto levels = row.levels();
  for (std::size_t j = 1; j < levels.size(); j += 1 + levels.size() / 4) {
    all.push_back(theory::certify_softcap_spread(levels[j].logit, levels[j - 1].logit, cap));
  }
  return all;
}

}  // namespace

std::vector<double> sinks_of(const RowCase& row_case) {
  const theory::LevelRow row = levels_of(row_case);
  constexpr double most = std::numeric_limits<double>::max();
  const double high = row.largest(), low = row.smallest(), step = 4 * row_case.theta;
  return {high, low, low / 2 + high / 2, std::min(high + step, most), std::max(low - step, -most)};
}

PropertyOf<RowCase> windows_keep_coefficients_up(RowCheck check) {
  return {"AttentionVariants",
          "NoCoefficientOfAWindowFallsBelowItsFloor",
          {"attention_variants.window"},
          row_cases(),
          std::move(check)};
}

PropertyOf<RowCase> sinks_take_from_the_items(RowCheck check) {
  return {"AttentionVariants",
          "ASinkOnlyTakesFromTheItems",
          {"attention_variants.sink_coefficient", "attention_variants.sink_dispersion_length"},
          row_cases(rows_with_sinks()),
          std::move(check)};
}

PropertyOf<RowCase> sinks_count_as_items(RowCheck check) {
  return {"AttentionVariants",
          "ASinkCountsAsAnItemOfTheEntropy",
          {"attention_variants.sink_entropy_floor"},
          row_cases(rows_with_sinks()),
          std::move(check)};
}

PropertyOf<RowCase> caps_bound_logits(RowCheck check) {
  return {"AttentionVariants",
          "ACapBoundsLogitsAndTheirSpread",
          {"attention_variants.softcap_logit", "attention_variants.softcap_spread"},
          row_cases(rows_with_sinks()),
          std::move(check)};
}

std::vector<Property> attention_variants_properties() {
  const auto windows = [](const RowCase& row_case) {
    const theory::LevelRow row = levels_of(row_case);
    return Certificates{theory::certify_window(row, row_case.theta, row.visible()),
                        theory::certify_window(row, row_case.theta, row.visible() + 5)};
  };
  const auto coefficients = [](const RowCase& row_case) {
    const theory::LevelRow row = levels_of(row_case);
    const theory::Spread spread{row.largest(), row.smallest(), row_case.theta};
    Certificates all;
    for (const double sink : sinks_of(row_case)) {
      all.push_back(theory::certify_sink_coefficient(row, row_case.theta, sink));
      for (const double eps : {0.5, 0x1p-10}) append(all, theory::certify_sink_dispersion_length(spread, sink, eps));
    }
    return all;
  };
  const auto entropies = [](const RowCase& row_case) {
    Certificates all;
    for (const double sink : sinks_of(row_case)) {
      append(all, theory::certify_sink_entropy_floor(levels_of(row_case), row_case.theta, sink));
    }
    return all;
  };
  return {windows_keep_coefficients_up(windows), sinks_take_from_the_items(coefficients),
          sinks_count_as_items(entropies), caps_bound_logits(caps_of)};
}

}  // namespace softcheck::proptests
