#pragma once

#include <span>

#include "models/read/element_format.hpp"

namespace softcheck::models {

/// ggml's quantised types, as ggml-common.h lays out their blocks. Every number of each is a double: a scale is an
/// integer of 11 bits times a power of two, and what it is multiplied with or added to keeps within 53 bits.
std::span<const ElementFormat> block_formats();

}  // namespace softcheck::models
