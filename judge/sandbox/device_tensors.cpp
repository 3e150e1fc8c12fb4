#include "judge/sandbox/device_tensors.hpp"

#include <dlfcn.h>

#include <algorithm>
#include <stdexcept>

namespace softcheck::proptests {

CudaDriver::Address DeviceTensors::room_in(Buffer& buffer, std::size_t bytes) {
  if (buffer.size >= bytes) return buffer.memory;
  if (buffer.memory != 0) driver_.free(buffer.memory);
  buffer = {};
  buffer.memory = driver_.allocate(bytes);
  if (buffer.memory != 0) buffer.size = bytes;
  return buffer.memory;
}

// Host pages and device memory begin at multiples of the same alignment, so a view is aligned on both alike.
bool DeviceTensors::move(ChildTensor& tensor) const {
  if (tensor.data == nullptr) return true;  // no elements
  auto* const at = static_cast<std::byte*>(tensor.data);
  for (const Region& region : regions_) {
    if (at < region.begin || at >= region.begin + region.size) continue;
    tensor.data = reinterpret_cast<void*>(region.device + static_cast<std::size_t>(at - region.begin));
    return true;
  }
  return false;
}

std::optional<ChildRequest> DeviceTensors::stage(const ChildRequest& request) {
  regions_.clear();
  for (std::size_t i = 0; i < buffers_.size(); ++i) {
    const ChildPages& pages = request.pages[i];
    const ChildIslands& islands = request.islands[i];
    Region region;
    if (islands.count > 0) {
      const std::size_t first = islands.first[0].begin;
      region.begin = islands.begin + first;
      for (std::size_t k = 0; k < islands.count; ++k) {
        region.used.push_back({islands.first[k].begin - first, islands.first[k].end - first});
        region.size = std::max(region.size, region.used.back().end);
      }
    } else if (pages.open_begin < pages.open_end) {
      region.begin = pages.begin + pages.open_begin;
      region.size = pages.open_end - pages.open_begin;
      region.used.push_back({0, region.size});
    } else {
      continue;
    }
    region.device = room_in(buffers_[i], region.size);
    if (region.device == 0) return std::nullopt;
    for (const ByteRange& part : region.used) {
      driver_.to_device(region.device + part.begin, region.begin + part.begin, part.end - part.begin);
    }
    regions_.push_back(std::move(region));
  }
  ChildRequest moved = request;
  moved.device = Device::cuda;
  bool complete = true;
  for (ChildTensor& tensor : moved.inputs) complete = complete && move(tensor);
  for (ChildTensor& tensor : moved.outputs) complete = complete && move(tensor);
  if (!complete) return std::nullopt;
  return moved;
}

void DeviceTensors::fetch() {
  driver_.synchronize();
  for (const Region& region : regions_) {
    for (const ByteRange& part : region.used) {
      driver_.to_host(region.begin + part.begin, region.device + part.begin, part.end - part.begin);
    }
  }
}

namespace {

constexpr const char* driver_name = "libcuda.so.1";
constexpr int out_of_memory = 2;  // CUDA_ERROR_OUT_OF_MEMORY

template <class Function>
void find(void* library, const char* name, Function& function) {
  function = reinterpret_cast<Function>(dlsym(library, name));
  if (function == nullptr) throw std::runtime_error(std::string(driver_name) + " has no " + name);
}

}  // namespace

CudaDriver::CudaDriver() {
  // Never closed, since the kernel's CUDA runtime uses the same library.
  void* library = dlopen(driver_name, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    const char* why = dlerror();
    throw std::runtime_error("no CUDA driver: " + std::string(why == nullptr ? driver_name : why));
  }
  // The versioned names to which cuda.h maps these functions.
  find(library, "cuInit", init_);
  find(library, "cuDeviceGet", device_get_);
  find(library, "cuDevicePrimaryCtxRetain", primary_context_);
  find(library, "cuCtxSetCurrent", set_current_);
  find(library, "cuMemAlloc_v2", allocate_);
  find(library, "cuMemFree_v2", free_);
  find(library, "cuMemcpyHtoD_v2", to_device_);
  find(library, "cuMemcpyDtoH_v2", to_host_);
  find(library, "cuCtxSynchronize", synchronize_);
  find(library, "cuGetErrorName", error_name_);
  int device = 0;
  void* context = nullptr;
  require(init_(0), "cuInit");
  require(device_get_(&device, 0), "cuDeviceGet");
  require(primary_context_(&context, device), "cuDevicePrimaryCtxRetain");
  require(set_current_(context), "cuCtxSetCurrent");
}

std::string CudaDriver::name_of(Result result) const {
  const char* name = nullptr;
  if (error_name_(result, &name) == 0 && name != nullptr) return name;
  return "error " + std::to_string(result);
}

void CudaDriver::require(Result result, const char* function) const {
  if (result != 0) throw std::runtime_error(std::string(function) + ": " + name_of(result));
}

CudaDriver::Address CudaDriver::allocate(std::size_t bytes) const {
  Address memory = 0;
  const Result result = allocate_(&memory, bytes);
  if (result == out_of_memory) return 0;
  require(result, "cuMemAlloc");
  return memory;
}

void CudaDriver::free(Address memory) const { require(free_(memory), "cuMemFree"); }

void CudaDriver::to_device(Address to, const void* from, std::size_t bytes) const {
  require(to_device_(to, from, bytes), "cuMemcpyHtoD");
}

void CudaDriver::to_host(void* to, Address from, std::size_t bytes) const {
  require(to_host_(to, from, bytes), "cuMemcpyDtoH");
}

void CudaDriver::synchronize() const { require(synchronize_(), "cuCtxSynchronize"); }

}  // namespace softcheck::proptests
