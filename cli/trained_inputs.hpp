#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "experiments/attention_kernels.hpp"
#include "experiments/evaluation.hpp"
#include "experiments/language/language_parts.hpp"
#include "experiments/language/language_training.hpp"
#include "experiments/trained_models.hpp"

namespace softcheck::cli {

/// The models of the folder that a flag names.
/// throws   InputError that begins with the flag
std::vector<experiments::TrainedModel> models_in(const std::string& flag, const std::string& folder);

/// The max-retrieval network in a file, which has softmax attention.
///
/// needed   what the error says is needed where there is no file
/// throws   InputError
experiments::TrainedModel network_in(const std::string& path, const std::string& needed);

/// This project's attention kernels.
/// throws   InputError when they are not there
experiments::AttentionKernels attention_kernels();

/// The measures of each model, on sets of its own; the terminal shows how far they are.
std::vector<std::vector<experiments::SizeMeasure>> measure(const std::vector<experiments::TrainedModel>& models,
                                                           const experiments::EvaluationOptions& options);

/// Those that a language model is made of.
/// throws   InputError when they are not there
experiments::LanguageKernels language_kernels();

/// Where the language models of this project stand.
std::filesystem::path language_folder();

/// The models of a folder's folders, in the order of their names.
/// throws   InputError that begins with the flag
std::vector<experiments::LanguageModel> language_models_in(const std::string& flag, const std::string& folder);

/// "models (sha256): NAME HASH ..."
std::string hashes_of_language(const std::string& folder, const std::vector<experiments::LanguageModel>& models);

}  // namespace softcheck::cli
