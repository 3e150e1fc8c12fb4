#include "cli/trained_inputs.hpp"

#include <fmt/format.h>

#include <stdexcept>

#include "cli/exit_code.hpp"
#include "cli/places.hpp"
#include "experiments/safetensors.hpp"

namespace softcheck::cli {

std::vector<experiments::TrainedModel> models_in(const std::string& flag, const std::string& folder) {
  try {
    return experiments::read_models(folder);
  } catch (const models::TensorFileError& error) {
    throw InputError(malformed, fmt::format("{}: {}", flag, error.what()));
  }
}

experiments::AttentionKernels attention_kernels() {
  try {
    return experiments::AttentionKernels(kernel_folder() / "libsoftcheck_cpu_kernels.so");
  } catch (const std::runtime_error& error) {
    throw InputError(unsupported, error.what());
  }
}

experiments::LanguageKernels language_kernels() {
  try {
    return experiments::LanguageKernels(kernel_folder() / "libsoftcheck_cpu_kernels.so");
  } catch (const std::runtime_error& error) {
    throw InputError(unsupported, error.what());
  }
}

}  // namespace softcheck::cli
