#pragma once

#include <vector>

#include "proptests/mutants/planted.hpp"

namespace softcheck::proptests {

std::vector<PlantedVersion> theorem_2_2_planted();

}  // namespace softcheck::proptests
