#include "proptests/tests/models/edited_checkpoint.hpp"

#include <fstream>
#include <stdexcept>

namespace softcheck::models {
namespace {

std::filesystem::path folder_of(const CheckpointEdit& edit) {
  return std::filesystem::path(SOFTCHECK_SOURCE_DIR "/proptests/tests/models/checkpoints") / edit.folder;
}

Config edited_config(const CheckpointEdit& edit) {
  std::ifstream file(folder_of(edit) / "config.json");
  nlohmann::json config = nlohmann::json::parse(file);
  config.merge_patch(nlohmann::json::parse(edit.config));
  return Config::parse(config.dump(), "config.json");
}

}  // namespace

EditedCheckpoint::EditedCheckpoint(const CheckpointEdit& edit)
    : Checkpoint(edit.folder, "safetensors", edited_config(edit)) {
  const auto whole = open_checkpoint(folder_of(edit));
  for (const std::string& name : whole->names()) tensors_[name] = *whole->find(name);
  for (const auto& [name, shape] : edit.tensors) {
    if (shape.empty()) {
      if (tensors_.erase(name) == 0) throw std::logic_error("no tensor " + name);
    } else {
      tensors_[name] = {name, "F32", shape};
    }
  }
}

const StoredTensor* EditedCheckpoint::find(std::string_view name) const {
  const auto found = tensors_.find(name);
  return found == tensors_.end() ? nullptr : &found->second;
}

std::vector<std::string> EditedCheckpoint::names() const {
  std::vector<std::string> names;
  for (const auto& [name, unused] : tensors_) names.push_back(name);
  return names;
}

TensorBlock EditedCheckpoint::read(const StoredTensor& tensor, IndexRange, IndexRange) const {
  throw std::logic_error("the tensor " + tensor.name + " is read");
}

}  // namespace softcheck::models
