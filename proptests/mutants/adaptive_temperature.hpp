#pragma once

#include <vector>

#include "proptests/mutants/planted.hpp"

namespace softcheck::proptests {

std::vector<PlantedVersion> adaptive_temperature_planted();

}  // namespace softcheck::proptests
