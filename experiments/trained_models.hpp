#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "experiments/max_retrieval_sets.hpp"
#include "experiments/safetensors.hpp"

namespace softcheck::experiments {

/// A trained network, read from a file.
struct TrainedModel {
  std::string name;     // of its file, without the folder
  std::string options;  // the options of its training, "" if the file lacks them
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

/// The value after NAME= in a model's options; "" if there is none.
std::string option_of(const TrainedModel& model, const std::string& name);

// The files of trained networks, in memory.

/// The bytes that write_safetensors writes.
///
/// dtype    "F32", or "BF16" for nearest_bf16 of every value
/// throws   std::invalid_argument when a tensor's values do not fill its shape
std::string safetensors_bytes(const TensorFile& file, std::string_view dtype = "F32");

/// The metadata of a trained network's file: everything that is needed to train it again.
///
/// made_by   program, version and commit
/// options   to_text of the options
/// loss      of the last step
std::map<std::string, std::string> training_metadata(const std::string& made_by, const std::string& options,
                                                     float loss);

}  // namespace softcheck::experiments
