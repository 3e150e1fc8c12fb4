#pragma once

#include <filesystem>

#include "kernels/abi/softcheck_kernel.h"

namespace softcheck::experiments {

/// A shared library of kernels. It stays loaded until the program ends, so that its kernels outlive this object.
class KernelLibrary {
 public:
  /// throws   std::runtime_error naming the library that cannot be loaded
  explicit KernelLibrary(const std::filesystem::path& path);

  /// throws   std::runtime_error naming the library and the kernel that it lacks
  softcheck_kernel kernel(const char* name) const;

 private:
  std::filesystem::path path_;
  void* handle_;
};

}  // namespace softcheck::experiments
