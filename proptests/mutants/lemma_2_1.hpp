#pragma once

#include <vector>

#include "proptests/mutants/planted.hpp"

namespace softcheck::proptests {

std::vector<PlantedVersion> lemma_2_1_planted();

}  // namespace softcheck::proptests
