#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "models/read/checkpoint.hpp"

namespace softcheck::models {

/// What is changed of a checkpoint on disk.
struct CheckpointEdit {
  std::string folder;
  /// Merged into config.json (RFC 7386): null takes a key away.
  std::string config = "{}";
  /// Names of tensors and their new shapes; an empty shape takes a tensor away.
  std::map<std::string, std::vector<std::int64_t>> tensors = {};
};

/// The names and shapes of a checkpoint, changed; it has no tensor's data.
class EditedCheckpoint : public Checkpoint {
 public:
  explicit EditedCheckpoint(const CheckpointEdit& edit);

  const StoredTensor* find(std::string_view name) const override;
  std::vector<std::string> names() const override;
  /// throws   std::logic_error: nothing may be read of a checkpoint to describe it
  TensorBlock read(const StoredTensor& tensor, IndexRange rows, IndexRange columns) const override;

 private:
  std::map<std::string, StoredTensor, std::less<>> tensors_;
};

}  // namespace softcheck::models
