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
/// needed   the words after "need" in the error, if there is no file
/// throws   InputError
experiments::TrainedModel network_in(const std::string& path, const std::string& needed);

/// This project's attention kernels.
/// throws   InputError when their library is missing
experiments::AttentionKernels attention_kernels();

/// The measures of each model, each on its own sets; shows its progress on the terminal.
std::vector<std::vector<experiments::SizeMeasure>> measure(const std::vector<experiments::TrainedModel>& models,
                                                           const experiments::EvaluationOptions& options);

/// The kernels that a language model calls.
/// throws   InputError when their library is missing
experiments::LanguageKernels language_kernels();

/// The folder of this project's language models.
std::filesystem::path language_folder();

/// The models in the subfolders of a folder, ordered by name.
/// throws   InputError that begins with the flag
std::vector<experiments::LanguageModel> language_models_in(const std::string& flag, const std::string& folder);

/// "models (sha256): NAME HASH ..."
std::string hashes_of_language(const std::string& folder, const std::vector<experiments::LanguageModel>& models);

}  // namespace softcheck::cli
