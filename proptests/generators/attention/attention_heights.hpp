#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "numerics/formats/format.hpp"
#include "proptests/generators/drawing/draw.hpp"

namespace softcheck::proptests {

/// Scores that a row of keys is given; `large` are some 10^4 apart, `independent` keys have no direction in common.
enum class Scores {
  ramp_up,
  ramp_down,
  one_hot,
  plateau,
  ties,
  late_peak,
  near_equal,
  shifted,
  normal,
  sharp,
  dispersing,
  large,
  at_resolution,  // one peak, all others where a sum or its logarithm begins to lose them: e^-12 to e^-110
  far_mass,       // one peak, and more weight in the many far below it
  rising,         // each the next number of the format
  two_levels,     // S at a power of two, or next to it
  independent,
  independent_too
};
inline constexpr std::uint64_t score_kinds = 18;

const char* name_of(Scores scores);

/// What the keys of one head have along the common direction: numbers of the format.
///
/// scores    any but the independent ones        keys    >= 1
std::vector<double> heights_of(Draw& draw, Scores scores, numerics::Format format, std::size_t keys);

}  // namespace softcheck::proptests
