#pragma once

#include "models/forward/network.hpp"

namespace softcheck::models {

/// The activation at x, to a few roundings of a double.
double activate(Activation activation, double x);

}  // namespace softcheck::models
