#pragma once

#include <string>
#include <vector>

#include "experiments/attention_kernels.hpp"
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

}  // namespace softcheck::cli
