#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace softcheck::proptests {

/// Loads libcuda.so.1 at run time, since softcheck is built without CUDA. Uses device 0 and its primary context, which
/// the kernel's own CUDA runtime also uses.
class CudaDriver {
 public:
  using Address = std::uint64_t;

  /// throws   std::runtime_error with the reason, if there is no driver or device, or it cannot be used
  CudaDriver();
  CudaDriver(const CudaDriver&) = delete;
  CudaDriver& operator=(const CudaDriver&) = delete;

  /// Device memory aligned to 256 bytes; 0 if the device has none left.
  Address allocate(std::size_t bytes) const;
  void free(Address memory) const;

  // Each throws std::runtime_error with the driver's name for the error. After a kernel's fault every call fails.
  void to_device(Address to, const void* from, std::size_t bytes) const;
  void to_host(void* to, Address from, std::size_t bytes) const;
  /// Waits for the work queued on all streams.
  void synchronize() const;

 private:
  using Result = int;

  void require(Result result, const char* function) const;
  std::string name_of(Result result) const;

  // Signatures of the driver's API: handles are pointers, devices are int, addresses have 64 bits.
  Result (*init_)(unsigned flags) = nullptr;
  Result (*device_get_)(int* device, int ordinal) = nullptr;
  Result (*primary_context_)(void** context, int device) = nullptr;
  Result (*set_current_)(void* context) = nullptr;
  Result (*allocate_)(Address* memory, std::size_t bytes) = nullptr;
  Result (*free_)(Address memory) = nullptr;
  Result (*to_device_)(Address to, const void* from, std::size_t bytes) = nullptr;
  Result (*to_host_)(void* to, Address from, std::size_t bytes) = nullptr;
  Result (*synchronize_)() = nullptr;
  Result (*error_name_)(Result error, const char** name) = nullptr;
};

}  // namespace softcheck::proptests
