#pragma once

#include <vector>

#include "proptests/mutants/planted.hpp"

namespace softcheck::proptests {

std::vector<PlantedVersion> streaming_entropy_planted();

}  // namespace softcheck::proptests
