#pragma once

#include <filesystem>

namespace softcheck::proptests {

/// A shard runs in its campaign's folder: the working folder is the earlier one again at the end of a scope.
class StateFolder {
 public:
  StateFolder() : before_(std::filesystem::current_path()) {}
  ~StateFolder() { std::filesystem::current_path(before_); }
  StateFolder(const StateFolder&) = delete;
  StateFolder& operator=(const StateFolder&) = delete;

 private:
  std::filesystem::path before_;
};

}  // namespace softcheck::proptests
