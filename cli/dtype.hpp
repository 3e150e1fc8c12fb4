#pragma once

#include <string>

#include "numerics/formats/format.hpp"

namespace softcheck::cli {

/// The format that a flag names.
/// throws   InputError (usage) naming the flag
numerics::Format dtype_of(const std::string& flag, const std::string& text);

}  // namespace softcheck::cli
