#include "judge/sandbox/cuda_driver.hpp"

#include <dlfcn.h>

#include <stdexcept>

namespace softcheck::proptests {
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
