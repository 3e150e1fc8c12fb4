#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <vector>

#include "judge/sandbox/cuda_driver.hpp"
#include "judge/sandbox/kernel_messages.hpp"

namespace softcheck::proptests {

/// The tensors of a call in a device's memory. What the kernel may touch of a tensor's pages is copied there before the
/// call, with what lies around the view, and all of it is copied back after: what the kernel wrote into an input or
/// beside an output lies then in the judge's pages, which are compared as for a kernel of the CPU.
class DeviceTensors {
 public:
  /// throws   std::runtime_error when there is no device, and why
  DeviceTensors() = default;

  /// The request with the tensors' addresses on the device; nothing where the device has no memory for it, or a tensor
  /// lies in pages of which this process knows no range.
  ///
  /// throws   std::runtime_error when the device fails
  std::optional<ChildRequest> stage(const ChildRequest& request);
  /// Waits for the kernel, and copies back.
  ///
  /// throws   std::runtime_error when the kernel has failed on the device, and how
  void fetch();

 private:
  // Pages of one tensor, and where they are on the device.
  struct Region {
    std::byte* begin = nullptr;
    std::size_t size = 0;
    std::vector<ByteRange> used;  // counted from begin
    CudaDriver::Address device = 0;
  };
  struct Buffer {
    CudaDriver::Address memory = 0;
    std::size_t size = 0;
  };

  /// Memory of at least so many bytes; 0 where there is none.
  CudaDriver::Address room_in(Buffer& buffer, std::size_t bytes);
  /// False where none of the regions has it.
  bool move(ChildTensor& tensor) const;

  CudaDriver driver_;
  std::array<Buffer, most_inputs + most_outputs> buffers_{};
  std::vector<Region> regions_;
};

}  // namespace softcheck::proptests
