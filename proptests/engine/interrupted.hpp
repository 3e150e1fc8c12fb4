#pragma once

#include "numerics/enclosures/interruption.hpp"

namespace softcheck::proptests {

using numerics::Interrupted;

}  // namespace softcheck::proptests
