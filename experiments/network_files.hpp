#pragma once

#include <map>
#include <string>
#include <string_view>

#include "experiments/safetensors.hpp"

namespace softcheck::experiments {

// The files of trained networks, in memory.

/// What write_safetensors writes.
///
/// dtype    "F32", or "BF16" for nearest_bf16 of every value
/// throws   std::invalid_argument when a tensor's values do not fill its shape
std::string safetensors_bytes(const TensorFile& file, std::string_view dtype = "F32");

/// What the file of a trained network says of itself: all that is needed to make it again.
///
/// made_by   program, version and commit
/// options   to_text of the options
/// loss      of the last step
std::map<std::string, std::string> training_metadata(const std::string& made_by, const std::string& options,
                                                     float loss);

}  // namespace softcheck::experiments
