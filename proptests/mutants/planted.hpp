#pragma once

#include <string>

#include "proptests/engine/property.hpp"

namespace softcheck::proptests {

/// A wrong claim or wrong code that a property must reject: the wrong check under the suite and the sentence of the
/// property it belongs to, over the same cases.
struct PlantedVersion {
  std::string what;  // what is wrong: "forgets theta"
  Property wrong;
};

}  // namespace softcheck::proptests
