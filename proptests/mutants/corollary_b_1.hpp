#pragma once

#include <vector>

#include "proptests/mutants/planted.hpp"

namespace softcheck::proptests {

std::vector<PlantedVersion> corollary_b_1_planted();

}  // namespace softcheck::proptests
