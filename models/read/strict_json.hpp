#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

namespace softcheck::models {

/// Parses a JSON object in which no key stands twice: JSON lets it and keeps the last, so that two readers would see
/// two different files.
///
/// what     the text's name in errors: "model.safetensors: the safetensors header"
/// deepest  most objects and arrays inside one another, the outermost counted
/// throws   TensorFileError
nlohmann::json parse_strict_object(const std::string& text, const std::string& what, int deepest);

}  // namespace softcheck::models
