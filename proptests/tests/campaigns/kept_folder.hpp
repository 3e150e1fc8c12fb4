#pragma once

#include <filesystem>

namespace softcheck::proptests {

/// A shard runs in its campaign's folder: the working folder is the earlier one again at the end of a scope.
class KeptFolder {
 public:
  KeptFolder() : before_(std::filesystem::current_path()) {}
  ~KeptFolder() { std::filesystem::current_path(before_); }
  KeptFolder(const KeptFolder&) = delete;
  KeptFolder& operator=(const KeptFolder&) = delete;

 private:
  std::filesystem::path before_;
};

}  // namespace softcheck::proptests
