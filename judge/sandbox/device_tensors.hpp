#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <vector>

#include "judge/sandbox/cuda_driver.hpp"
#include "judge/sandbox/kernel_messages.hpp"

namespace softcheck::proptests {

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
