#pragma once

#include <dlfcn.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <vector>

#include "kernels/abi/softcheck_kernel.h"

namespace softcheck::models {

/// A folder of proptests/tests/models/checkpoints.
inline std::filesystem::path checkpoint_folder(const std::string& name) {
  return std::filesystem::path(SOFTCHECK_SOURCE_DIR "/proptests/tests/models/checkpoints") / name;
}

/// The ids of the recorded passes of a checkpoint.
inline std::vector<std::vector<std::int64_t>> recorded_ids(const std::string& name) {
  std::ifstream file(checkpoint_folder("tokens.json"));
  return nlohmann::json::parse(file).at(name).get<std::vector<std::vector<std::int64_t>>>();
}

/// softcheck_attention of this build's CPU kernels.
inline softcheck_kernel attention_kernel() {
  void* const library = dlopen(SOFTCHECK_KERNEL_DIR "/libsoftcheck_cpu_kernels.so", RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) throw std::runtime_error(dlerror());
  return reinterpret_cast<softcheck_kernel>(dlsym(library, "softcheck_attention"));
}

}  // namespace softcheck::models
