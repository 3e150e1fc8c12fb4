#pragma once

#include <vector>

#include "proptests/mutants/planted.hpp"

namespace softcheck::proptests {

std::vector<PlantedVersion> attention_variants_planted();

}  // namespace softcheck::proptests
