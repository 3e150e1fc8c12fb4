#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "numerics/formats/format.hpp"
#include "proptests/generators/drawing/draw.hpp"

namespace softcheck::proptests {

/// The kind of a row's scores. `large` scores differ by about 10^4; `independent` keys have no common direction.
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
  at_resolution,  // one peak; all others so low that a sum or its logarithm begins to lose them: e^-12 to e^-110
  far_mass,       // one peak, and more total weight in many keys far below it
  rising,         // each the next number of the format
  two_levels,     // S at or next to a power of two
  independent,
  independent_too
};
inline constexpr std::uint64_t score_kinds = 18;

const char* name_of(Scores scores);

/// The components of one head's keys along the common direction, as numbers of the format.
///
/// scores    any but the independent ones        keys    >= 1
std::vector<double> heights_of(Draw& draw, Scores scores, numerics::Format format, std::size_t keys);

}  // namespace softcheck::proptests
