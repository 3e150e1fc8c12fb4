#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "experiments/max_retrieval_sets.hpp"

namespace softcheck::experiments {

/// A trained network as it was read.
struct TrainedModel {
  std::string name;     // of its file, without the folder
  std::string options;  // the words it was trained with, "" where the file does not say
  Floats parameters;
};

/// One file.
///
/// throws   models::TensorFileError as parameters_of() does
TrainedModel read_model(const std::filesystem::path& path);

/// All *.safetensors of a folder, in the order of their names.
///
/// throws   models::TensorFileError also when the folder is not there or holds none
std::vector<TrainedModel> read_models(const std::filesystem::path& folder);

/// The value after NAME= in a model's options; "" where there is none.
std::string option_of(const TrainedModel& model, const std::string& name);

}  // namespace softcheck::experiments
