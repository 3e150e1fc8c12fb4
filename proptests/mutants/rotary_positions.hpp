#pragma once

#include <vector>

#include "proptests/mutants/planted.hpp"

namespace softcheck::proptests {

std::vector<PlantedVersion> rotary_positions_planted();

}  // namespace softcheck::proptests
