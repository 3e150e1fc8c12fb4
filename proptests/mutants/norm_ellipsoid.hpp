#pragma once

#include <vector>

#include "proptests/mutants/planted.hpp"

namespace softcheck::proptests {

std::vector<PlantedVersion> norm_ellipsoid_planted();

}  // namespace softcheck::proptests
