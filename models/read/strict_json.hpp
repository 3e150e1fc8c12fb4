#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

namespace softcheck::models {

/// Parses a JSON object in which no key stands twice: JSON lets it and keeps the last, so that two readers would see
/// two different files.
///
/// what     the text's name in errors: "model.safetensors: the safetensors header"
/// deepest  most objects and arrays inside one another, the outermost counted
/// throws   TensorFileError
nlohmann::json parse_strict_object(const std::string& text, const std::string& what, int deepest);

/// A file that a later run of softcheck goes on from: contents beside their digest, so that a digit that a disk or an
/// editor has changed is seen. The digest is no signature: whatever writes the file can write the digest, too.
///
/// format   what the file is, and its version
/// returns  one line: {"contents": ..., "digest": ..., "format": ...}; bytes that are no UTF-8 are replaced
std::string sealed_json(const nlohmann::json& contents, std::string_view format);

/// The contents of a text that sealed_json has written.
///
/// what     the text's name in errors
/// deepest  most objects and arrays inside one another, those of the contents alone
/// throws   TensorFileError where it is no such text, of another format, or changed
nlohmann::json unsealed_json(const std::string& text, const std::string& what, std::string_view format, int deepest);

}  // namespace softcheck::models
