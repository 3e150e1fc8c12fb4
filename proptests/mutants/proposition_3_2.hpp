#pragma once

#include <vector>

#include "proptests/mutants/planted.hpp"

namespace softcheck::proptests {

std::vector<PlantedVersion> proposition_3_2_planted();

}  // namespace softcheck::proptests
