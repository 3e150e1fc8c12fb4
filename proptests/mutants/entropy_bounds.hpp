#pragma once

#include <vector>

#include "proptests/mutants/planted.hpp"

namespace softcheck::proptests {

std::vector<PlantedVersion> entropy_bounds_planted();

}  // namespace softcheck::proptests
