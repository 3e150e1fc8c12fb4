#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace softcheck::proptests {

/// The CUDA driver's library, libcuda.so.1, opened where a driver is installed: softcheck is built without CUDA. Device
/// 0 and its primary context, which the kernel's own CUDA runtime uses, too.
class CudaDriver {
 public:
  using Address = std::uint64_t;

  /// throws   std::runtime_error when there is no driver or no device, or it cannot be used, and why
  CudaDriver();
  CudaDriver(const CudaDriver&) = delete;
  CudaDriver& operator=(const CudaDriver&) = delete;

  /// Memory of the device, at a multiple of 256 bytes; 0 where it has none left.
  Address allocate(std::size_t bytes) const;
  void free(Address memory) const;

  // Each throws std::runtime_error with the driver's name of the error: after a fault of a kernel, every call has one.
  void to_device(Address to, const void* from, std::size_t bytes) const;
  void to_host(void* to, Address from, std::size_t bytes) const;
  /// Waits for all that was queued, on whatever stream.
  void synchronize() const;

 private:
  using Result = int;

  void require(Result result, const char* function) const;
  std::string name_of(Result result) const;

  // As the driver's API declares them: handles are pointers, devices int, addresses 64 bits.
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
