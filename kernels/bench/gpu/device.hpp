#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

// The program's interface to a CUDA device: no other file of the program includes CUDA's headers.
namespace softcheck::kernels::gpu {

struct Device {
  std::string missing;  // why there is no device; empty if there is one
  std::string name;
  std::string architecture;  // sm_90
  int driver = 0;            // the newest CUDA that the driver knows, 13000 for 13.0
  int runtime = 0;           // the CUDA that this program was linked with
  int multiprocessors = 0;
  std::size_t memory = 0;  // bytes
};

/// The first device, on which all that follows happens.
Device find_device();

/// Bytes on the device. Throws std::runtime_error if there are no more.
class DeviceMemory {
 public:
  explicit DeviceMemory(std::size_t bytes);
  DeviceMemory(DeviceMemory&& other) noexcept : data_(other.data_), bytes_(other.bytes_) { other.data_ = nullptr; }
  DeviceMemory(const DeviceMemory&) = delete;
  DeviceMemory& operator=(const DeviceMemory&) = delete;
  ~DeviceMemory();

  void* data() const { return data_; }
  std::size_t bytes() const { return bytes_; }
  /// Repeats pattern until all is filled.
  void fill(const std::vector<std::byte>& pattern) const;
  /// Copies all bytes to the host, after the work queued on the default stream.
  std::vector<std::byte> read() const;

 private:
  void* data_ = nullptr;
  std::size_t bytes_;
};

/// Seconds of each work between two events around it, [work][round]. The works run in turns, so that clock rates and
/// other work affect all of them alike; a first round is not counted. Throws std::runtime_error if a work ends with an
/// error of the device.
std::vector<std::vector<double>> interleaved_seconds(const std::vector<std::function<void()>>& works, int rounds);

// Upper limits of speed: a plain copy and a plain read. bytes: a multiple of 16.
void copy_memory(const DeviceMemory& from, const DeviceMemory& to, std::size_t bytes);
void read_memory(const DeviceMemory& from, const DeviceMemory& result, std::size_t bytes);

}  // namespace softcheck::kernels::gpu
