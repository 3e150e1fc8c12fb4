#pragma once

#include <vector>

#include "proptests/mutants/planted.hpp"

namespace softcheck::proptests {

std::vector<PlantedVersion> remark_c_1_planted();

}  // namespace softcheck::proptests
