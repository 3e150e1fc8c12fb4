#pragma once

#include <vector>

#include "proptests/mutants/planted.hpp"

namespace softcheck::proptests {

/// The planted wrong versions of every property.
std::vector<PlantedVersion> all_planted();

}  // namespace softcheck::proptests
