#include "theory/differential_attention.hpp"

#include <rapidcheck.h>

#include "proptests/properties/properties.hpp"

namespace softcheck::proptests {
namespace {

// The factors of the second row: learnt ones begin at 0.2 to 0.8, and nothing keeps them below 1.
constexpr double factors[] = {0.2, 0.8, 0x1.fffffffffffffp-1, 2};

}  // namespace

PropertyOf<RowCase> differences_lie_within_bounds(RowCheck check) {
  return {"DifferentialAttention",
          "EveryCoefficientIsOfOrderOneByN",
          {"differential_attention.bounds"},
          row_cases(),
          std::move(check)};
}

PropertyOf<RowCase> shares_disperse(RowCheck check) {
  return {"DifferentialAttention",
          "NoShareIsLargeWhereLambdaIsNotOne",
          {"differential_attention.share"},
          row_cases(),
          std::move(check)};
}

PropertyOf<RowCase> a_single_gain_keeps_half(RowCheck check) {
  return {"DifferentialAttention",
          "WhereLambdaIsOneASingleGainKeepsHalf",
          {"differential_attention.half"},
          row_cases(),
          std::move(check)};
}

std::vector<Property> differential_attention_properties() {
  const auto bounds = [](const RowCase& row_case) {
    const theory::LevelRow row = levels_of(row_case);
    Certificates all = theory::certify_differential_bounds(row, row.mirrored(), row_case.theta);
    for (const double lambda : factors) append(all, theory::certify_differential_bounds(row, row, lambda));
    return all;
  };
  const auto shares = [](const RowCase& row_case) {
    Certificates all;
    for (const double lambda : factors) append(all, theory::certify_differential_share(levels_of(row_case), lambda));
    return all;
  };
  // The temperature is the gain here, of an item among the others of the row.
  const auto half = [](const RowCase& row_case) {
    const std::uint64_t items = levels_of(row_case).visible();
    return items > 1 ? theory::certify_differential_half(items - 1, row_case.theta) : Certificates{};
  };
  return {differences_lie_within_bounds(bounds), shares_disperse(shares), a_single_gain_keeps_half(half)};
}

}  // namespace softcheck::proptests
