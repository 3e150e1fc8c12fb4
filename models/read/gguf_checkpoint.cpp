#include "models/read/gguf_checkpoint.hpp"

#include <utility>

#include "models/read/file_source.hpp"
#include "models/read/gguf_header.hpp"
#include "models/read/placed_tensors.hpp"

namespace softcheck::models {

std::unique_ptr<Checkpoint> open_gguf(const std::filesystem::path& file) {
  const std::string name = file.string();
  const ByteSource source = open_file_source(file);
  GgufHeader header = read_gguf_header(source, name);
  Config config = Config::of_values(header.keys, name);
  const std::int64_t parts = config.integer("split.count").value_or(1);
  if (parts > 1) {
    throw UnsupportedTensorFile(name + ": need one GGUF file, got one of " + std::to_string(parts) +
                                ": merge them with llama-gguf-split");
  }
  if (config.text("general.type").value_or("model") == "adapter") {
    throw UnsupportedTensorFile(name + ": need a model, got an adapter: merge it into its model");
  }
  TensorPlaces places;
  for (GgufEntry& entry : header.tensors) {
    std::string tensor = entry.tensor.name;
    places.emplace(std::move(tensor), PlacedTensor{std::move(entry.tensor), {source, name, entry.begin}});
  }
  return std::make_unique<PlacedTensors>(name, "gguf", std::move(config), std::move(places));
}

}  // namespace softcheck::models
