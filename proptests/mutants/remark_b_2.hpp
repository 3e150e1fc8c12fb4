#pragma once

#include <vector>

#include "proptests/mutants/planted.hpp"

namespace softcheck::proptests {

std::vector<PlantedVersion> remark_b_2_planted();

}  // namespace softcheck::proptests
