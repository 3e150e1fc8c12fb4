#pragma once

#include <map>
#include <string>

#include "experiments/language/language_model.hpp"
#include "experiments/max_retrieval_sets.hpp"

namespace softcheck::experiments {

/// What write_language_model writes, by name.
std::map<std::string, std::string> language_model_files(const LanguageDesign& design, const Floats& parameters,
                                                        const std::map<std::string, std::string>& metadata);

}  // namespace softcheck::experiments
