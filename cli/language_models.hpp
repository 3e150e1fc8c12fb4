#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "experiments/language/language_training.hpp"

namespace softcheck::cli {

/// Where the language models of this project stand.
std::filesystem::path language_folder();

/// The models of a folder's folders, in the order of their names.
/// throws   InputError that begins with the flag
std::vector<experiments::LanguageModel> language_models_in(const std::string& flag, const std::string& folder);

/// "models (sha256): NAME HASH ..."
std::string hashes_of_language(const std::string& folder, const std::vector<experiments::LanguageModel>& models);

}  // namespace softcheck::cli
