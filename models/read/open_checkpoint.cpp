#include "models/read/checkpoint.hpp"
#include "models/read/safetensors_checkpoint.hpp"

namespace softcheck::models {

std::unique_ptr<Checkpoint> open_checkpoint(const std::filesystem::path& path) {
  std::error_code error;
  const auto status = std::filesystem::status(path, error);
  if (!std::filesystem::exists(status)) throw MissingTensorFile(path.string() + ": is not there");
  if (std::filesystem::is_directory(status)) return open_safetensors_folder(path);
  return open_safetensors_file(path);
}

}  // namespace softcheck::models
