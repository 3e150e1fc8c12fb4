#pragma once

#include <string_view>
#include <vector>

#include "proptests/engine/property.hpp"

namespace softcheck::proptests {

/// Every property of the house, in the order of the paper.
const std::vector<Property>& all_properties();

/// The property named "Suite.Sentence"; null when there is none.
const Property* find_property(std::string_view name);

}  // namespace softcheck::proptests
