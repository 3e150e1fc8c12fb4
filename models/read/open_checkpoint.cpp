#include <system_error>

#include "models/read/checkpoint.hpp"
#include "models/read/file_source.hpp"
#include "models/read/gguf_header.hpp"
#include "models/read/safetensors_header.hpp"

namespace softcheck::models {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t largest_config = std::uint64_t{16} << 20;

bool stands(const fs::path& path) {
  std::error_code unknown;
  return fs::exists(path, unknown);
}

Config config_of(const fs::path& folder) {
  if (stands(folder / "adapter_config.json")) {
    throw UnsupportedTensorFile(folder.string() +
                                ": has adapter_config.json: need a model with its adapter merged into its tensors");
  }
  const fs::path file = folder / "config.json";
  if (!stands(file)) throw MissingTensorFile(folder.string() + ": need config.json beside the tensors");
  return Config::parse(read_text_file(file, largest_config), file.string());
}

std::unique_ptr<Checkpoint> open_folder(const fs::path& folder) {
  const Config config = config_of(folder);
  const fs::path single = folder / "model.safetensors", index = folder / "model.safetensors.index.json";
  // As transformers does: the single file first.
  if (stands(single)) return open_safetensors(single, folder, config);
  if (stands(index)) return open_shards(index, folder, config);
  for (const char* other : {"pytorch_model.bin", "pytorch_model.bin.index.json", "tf_model.h5", "flax_model.msgpack"}) {
    if (stands(folder / other)) {
      throw UnsupportedTensorFile(folder.string() + ": need model.safetensors, got " + other);
    }
  }
  throw MissingTensorFile(folder.string() + ": need model.safetensors or model.safetensors.index.json");
}

}  // namespace

std::unique_ptr<Checkpoint> open_checkpoint(const fs::path& path) {
  std::error_code error;
  const fs::file_status status = fs::status(path, error);
  if (status.type() == fs::file_type::not_found) throw MissingTensorFile(path.string() + ": is not there");
  if (fs::is_directory(status)) return open_folder(path);
  const std::string ending = path.extension().string();
  if (ending == ".gguf") return open_gguf(path);
  if (ending == ".safetensors") {
    return open_safetensors(path, path, config_of(path.has_parent_path() ? path.parent_path() : "."));
  }
  const std::string need = ": need a folder with config.json and model.safetensors, a .safetensors or a .gguf file";
  for (const char* other : {".bin", ".pt", ".pth", ".h5", ".msgpack", ".onnx"}) {
    if (ending == other) throw UnsupportedTensorFile(path.string() + need + ", got a " + other + " file");
  }
  throw TensorFileError(path.string() + need);
}

}  // namespace softcheck::models
