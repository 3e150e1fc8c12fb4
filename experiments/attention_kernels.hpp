#pragma once

#include <cstdint>
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

/// The attention kernels of this project, found by name in their shared library. They keep no state: one object serves
/// any number of threads.
class AttentionKernels {
 public:
  /// throws   std::runtime_error naming the library, or the kernel it lacks
  explicit AttentionKernels(const std::filesystem::path& library);

  /// One query for each of sets sets of size items, of width numbers each; items are keys and values.
  ///
  /// items     (sets, size, width), compact
  /// queries   (sets, width); the logits are their products with the items, unscaled
  /// pooled    (sets, width); log_sum (sets) and entropy (sets), in nats, of the weights that multiply the items
  /// throws    std::runtime_error when the kernel refuses
  void attend(std::int64_t sets, std::int64_t size, const float* items, const float* queries, float* pooled,
              float* log_sum, float* entropy) const;

  /// The same with the adaptive temperature of Fig. 4.
  void attend_adaptively(std::int64_t sets, std::int64_t size, const float* items, const float* queries, float* pooled,
                         float* log_sum, float* entropy) const;

  /// The kernels themselves, for calls of other shapes and formats.
  softcheck_kernel plain() const { return plain_; }
  softcheck_kernel adaptive() const { return adaptive_; }

 private:
  softcheck_kernel plain_;
  softcheck_kernel adaptive_;
};

}  // namespace softcheck::experiments
