#pragma once

#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <vector>

#include "models/read/checkpoint.hpp"
#include "proptests/tests/models/forward_inputs.hpp"

namespace softcheck::models {

/// What is changed of a checkpoint on disk.
struct CheckpointEdit {
  std::string folder;
  /// Merged into config.json (RFC 7386): null takes a key away.
  std::string config = "{}";
  /// Names of tensors and their new shapes; an empty shape takes a tensor away.
  std::map<std::string, std::vector<std::int64_t>> tensors = {};

  Config edited_config() const {
    std::ifstream file(checkpoint_folder(folder) / "config.json");
    nlohmann::json whole = nlohmann::json::parse(file);
    whole.merge_patch(nlohmann::json::parse(config));
    return Config::parse(whole.dump(), "config.json");
  }
};

/// The names and shapes of a checkpoint, changed; it has no tensor's data.
class EditedCheckpoint : public Checkpoint {
 public:
  explicit EditedCheckpoint(const CheckpointEdit& edit) : Checkpoint(edit.folder, "safetensors", edit.edited_config()) {
    const auto whole = open_checkpoint(checkpoint_folder(edit.folder));
    for (const std::string& name : whole->names()) tensors_[name] = *whole->find(name);
    for (const auto& [name, shape] : edit.tensors) {
      if (!shape.empty()) {
        tensors_[name] = {name, "F32", shape};
      } else if (tensors_.erase(name) == 0) {
        throw std::logic_error("no tensor " + name);
      }
    }
  }

  const StoredTensor* find(std::string_view name) const override {
    const auto found = tensors_.find(name);
    return found == tensors_.end() ? nullptr : &found->second;
  }
  std::vector<std::string> names() const override {
    std::vector<std::string> names;
    for (const auto& [name, unused] : tensors_) names.push_back(name);
    return names;
  }
  /// throws   std::logic_error: nothing may be read of a checkpoint to describe it
  TensorBlock read(const StoredTensor& tensor, IndexRange, IndexRange) const override {
    throw std::logic_error("the tensor " + tensor.name + " is read");
  }

 private:
  std::map<std::string, StoredTensor, std::less<>> tensors_;
};

}  // namespace softcheck::models
