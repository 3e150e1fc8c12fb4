#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "judge/sandbox/kernel_messages.hpp"

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


/// The tensors of a call in device memory. Before the call, the accessible part of each tensor's pages is copied to the
/// device, with the filling around the view; after it, all is copied back. So the judge finds writes into an input or
/// outside an output by comparing its own pages, as it does for CPU kernels.
class DeviceTensors {
 public:
  /// throws   std::runtime_error with the reason, if there is no device
  DeviceTensors() = default;

  /// The request with the tensors' device addresses. Nothing if the device has no memory left, or a tensor lies in
  /// pages that this process has no range for.
  ///
  /// throws   std::runtime_error if the device fails
  std::optional<ChildRequest> stage(const ChildRequest& request);
  /// Waits for the kernel, and copies the tensors back.
  ///
  /// throws   std::runtime_error with the error, if the kernel failed on the device
  void fetch();

 private:
  // The pages of one tensor, and their device address.
  struct Region {
    std::byte* begin = nullptr;
    std::size_t size = 0;
    std::vector<ByteRange> used;  // relative to begin
    CudaDriver::Address device = 0;
  };
  struct Buffer {
    CudaDriver::Address memory = 0;
    std::size_t size = 0;
  };

  /// At least `bytes` of device memory; 0 if there is none left.
  CudaDriver::Address room_in(Buffer& buffer, std::size_t bytes);
  /// False if no region holds the tensor.
  bool move(ChildTensor& tensor) const;

  CudaDriver driver_;
  std::array<Buffer, most_inputs + most_outputs> buffers_{};
  std::vector<Region> regions_;
};

}  // namespace softcheck::proptests
