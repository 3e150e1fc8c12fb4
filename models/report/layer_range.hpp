#pragma once

#include <optional>
#include <string>

#include "models/bounds/certify_checkpoint.hpp"

namespace softcheck::models {

/// "3" or "0-3"; none where the text is neither.
std::optional<LayerRange> parse_layers(const std::string& text);

}  // namespace softcheck::models
