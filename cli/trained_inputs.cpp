#include "cli/trained_inputs.hpp"

#include <fmt/format.h>

#include <filesystem>
#include <stdexcept>

#include "cli/exit_code.hpp"
#include "cli/places.hpp"
#include "experiments/safetensors.hpp"

namespace softcheck::cli {

namespace fs = std::filesystem;
using namespace experiments;

std::vector<TrainedModel> models_in(const std::string& flag, const std::string& folder) {
  return as_input_error<models::TensorFileError>(malformed, flag + ": ", [&] { return read_models(folder); });
}

TrainedModel network_in(const std::string& path, const std::string& needed) {
  std::error_code error;
  if (!fs::exists(path, error)) {
    throw InputError(usage, fmt::format("model: need {}, '{}' is not there", needed, path));
  }
  TrainedModel model = as_input_error<models::TensorFileError>(malformed, "", [&] { return read_model(path); });
  const std::string head = option_of(model, "head");
  if (head.empty() || head == "softmax") return model;
  throw InputError(unsupported, fmt::format("{}: need a network with softmax attention, its head is {}", path, head));
}

AttentionKernels attention_kernels() {
  return as_input_error<std::runtime_error>(
      unsupported, "", [] { return AttentionKernels(kernel_folder() / "libsoftcheck_cpu_kernels.so"); });
}

}  // namespace softcheck::cli
