#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "cli/run_output.hpp"
#include "experiments/evaluation.hpp"
#include "experiments/figures/gnuplot.hpp"
#include "experiments/language/language_parts.hpp"
#include "experiments/language/language_training.hpp"

// What the verbs below `run` share beyond what other verbs need, too.

namespace softcheck::cli {

/// The measures of each model, each on its own sets; shows its progress on the terminal.
std::vector<std::vector<experiments::SizeMeasure>> measure(const std::vector<experiments::TrainedModel>& models,
                                                           const experiments::EvaluationOptions& options);

/// The kernels that a language model calls.
/// throws   InputError when their library is missing
experiments::LanguageKernels language_kernels();

/// The folders of this project's language models: of all algorithms, and those that have learnt some of them.
std::filesystem::path language_folder();
std::filesystem::path learnt_language_folder();

/// The models in the subfolders of a folder, ordered by name.
/// throws   InputError that begins with the flag
std::vector<experiments::LanguageModel> language_models_in(const std::string& flag, const std::string& folder);

/// "models (sha256): NAME HASH ..."
std::string hashes_of_language(const std::string& folder, const std::vector<experiments::LanguageModel>& models);

/// Writes the tables as CSV, with their origin first, then the pictures as SVG and PNG, and prints the names of the
/// files. Without gnuplot the tables are still written.
///
/// throws   InputError when gnuplot is missing
void publish_figure(const experiments::Figure& figure, const OutputFolder& folder, const std::string& origin);

}  // namespace softcheck::cli
