#pragma once

#include <string>
#include <vector>

#include "experiments/attention_kernels.hpp"
#include "experiments/language/language_parts.hpp"
#include "experiments/trained_models.hpp"

namespace softcheck::cli {

/// The models of the folder that a flag names.
/// throws   InputError that begins with the flag
std::vector<experiments::TrainedModel> models_in(const std::string& flag, const std::string& folder);

/// This project's attention kernels.
/// throws   InputError when they are not there
experiments::AttentionKernels attention_kernels();

/// Those that a language model is made of.
/// throws   InputError when they are not there
experiments::LanguageKernels language_kernels();

}  // namespace softcheck::cli
